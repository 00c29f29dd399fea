package cluster

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// succession makes followers of a leader whose process has ended elect the next
// one without waiting out Raft's timers.
//
// A leader that is cut off or slow is silent; one whose process is gone has its
// port closed, and a connection to it is refused. A voter that is refused, and
// that has not heard from the leader for the length of its lease, shortens its
// timers to the lease. It still asks for pre-votes, and nodes that hear from the
// leader refuse them: a firewall that rejects connections unseats nobody.
//
// The voters do so one after the other. Those that go first are refused, as the
// others do not miss the leader yet; the one with which a majority misses it is
// the only one that stands, so that votes are not split.
//
// The heartbeat loop owns it.
type succession struct {
	since time.Time // when the timers were shortened; zero = they are not
}

const (
	// successionStep is the head start of a voter before the next, in heartbeat periods.
	successionStep = 2
	// successionLimit is how many election timeouts the short timers may last.
	successionLimit = 10
)

// proceed looks at how the latest exchange with the leader ended.
func (n *Node) proceed(err error) {
	s := &n.succession
	normal := n.electionTimeout()
	switch {
	case !s.since.IsZero():
		if err == nil || time.Since(s.since) > successionLimit*normal {
			s.since = time.Time{}
			n.setElection(normal)
		}
	case n.missesLeader(err):
		s.since = time.Now()
		n.log.Info("the leader's process is gone: standing early")
		n.setElection(n.cfg.Timing.Lease)
	}
}

// missesLeader tells whether it is this voter's turn to act on a leader that is gone.
func (n *Node) missesLeader(err error) bool {
	if !errors.Is(err, syscall.ECONNREFUSED) || n.raft.State() != raft.Follower {
		return false
	}
	_, leader := n.raft.LeaderWithID()
	heirs := slices.DeleteFunc(n.voters(), func(id string) bool { return id == string(leader) })
	slices.Sort(heirs)
	turn := slices.Index(heirs, n.id)
	if turn < 0 {
		return false
	}
	wait := n.cfg.Timing.Lease + time.Duration(turn*successionStep)*n.cfg.Timing.Heartbeat
	return time.Since(n.raft.LastContact()) >= wait
}

// electionTimeout is how long this voter waits for a leader: a node without disk space lets the others stand first.
func (n *Node) electionTimeout() time.Duration {
	if n.Space().Low {
		return slowLow * n.cfg.Timing.Election
	}
	return n.cfg.Timing.Election
}

func (n *Node) setElection(timeout time.Duration) {
	err := n.retune(func(c *raft.ReloadableConfig) {
		c.HeartbeatTimeout, c.ElectionTimeout = timeout, timeout
	})
	if err != nil {
		n.log.Error("election timeout", "error", err)
	}
}

// retune changes what Raft lets be changed while it runs.
func (n *Node) retune(change func(*raft.ReloadableConfig)) error {
	n.tuning.Lock()
	defer n.tuning.Unlock()
	c := n.raft.ReloadableConfig()
	change(&c)
	return n.raft.ReloadConfig(c)
}
