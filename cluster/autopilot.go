package cluster

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
)

const (
	// maxTrailingLogs is how many entries a healthy member may be behind.
	maxTrailingLogs = 250
	// leastVoters is the number of voters that cleaning up never goes below.
	leastVoters = 3
	// nodeNonVoter is the type of members that have no vote (yet).
	nodeNonVoter autopilot.NodeType = "non-voter"
)

// pilot is what raft-autopilot needs of the node. It runs on the leader:
// it gives the vote to members that were healthy for Timing.Stable, and takes
// members out that were silent for Timing.DeadAfter, as long as enough voters stay.
//
// Autopilot calls it from two goroutines; what they share is replaced, never changed.
type pilot struct {
	node  *Node
	heard atomic.Pointer[map[raft.ServerID]heardMember]
	state atomic.Pointer[autopilot.State] // the newest
}

// heardMember is the last answer of a member; without one (no id), at is when
// the member was first asked.
type heardMember struct {
	memberStats
	at time.Time
}

// memberStats is what a member tells the autopilot about itself.
type memberStats struct {
	ID        string        `cbor:"id"`
	LastTerm  uint64        `cbor:"last_term"` // of its last log entry
	LastIndex uint64        `cbor:"last_index"`
	Contact   time.Duration `cbor:"contact"` // since the leader's last message; negative: none yet
	NonVoter  bool          `cbor:"non_voter"`
	Draining  bool          `cbor:"draining"`
}

// runAutopilot runs the autopilot while this node leads.
func (n *Node) runAutopilot(ctx context.Context) {
	changed := make(chan uint64, 1)
	n.OnLeadership(func(term uint64) {
		select { // only the newest counts
		case <-changed:
		default:
		}
		changed <- term
	})
	var running *autopilot.Autopilot
	stop := func() {
		if running != nil {
			<-running.Stop()
			running = nil
			n.pilot.Store(nil)
		}
	}
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case term := <-changed:
			stop()
			if term == 0 {
				continue
			}
			p := &pilot{node: n}
			p.heard.Store(&map[raft.ServerID]heardMember{})
			running = autopilot.New(n.raft, p,
				autopilot.WithPromoter(promoter{p}), autopilot.WithLogger(newRaftLogger(n.log)),
				autopilot.WithUpdateInterval(n.cfg.Timing.Autopilot), autopilot.WithReconcileInterval(n.cfg.Timing.Autopilot))
			n.pilot.Store(p)
			running.Start(ctx)
		}
	}
}

// AutopilotConfig gives the limits.
func (p *pilot) AutopilotConfig() *autopilot.Config {
	cfg := p.node.cfg
	return &autopilot.Config{
		CleanupDeadServers:      cfg.Timing.DeadAfter > 0,
		LastContactThreshold:    cfg.Timing.Election,
		MaxTrailingLogs:         maxTrailingLogs,
		MinQuorum:               uint(max(leastVoters, cfg.BootstrapExpect)),
		ServerStabilizationTime: cfg.Timing.Stable,
	}
}

// NotifyState keeps the newest state for Overview.
func (p *pilot) NotifyState(s *autopilot.State) { p.state.Store(s) }

// KnownServers lists the members: all of the configuration, so none is ever
// taken for a leftover. A member counts as alive until it was silent for DeadAfter.
func (p *pilot) KnownServers() map[raft.ServerID]*autopilot.Server {
	known := map[raft.ServerID]*autopilot.Server{}
	heard := *p.heard.Load()
	for _, s := range p.node.servers() {
		m := heard[s.ID]
		known[s.ID] = &autopilot.Server{
			ID: s.ID, Name: string(s.ID), Address: s.Address, RaftVersion: int(raft.ProtocolVersionMax),
			NodeStatus: autopilot.NodeAlive, NodeType: nodeNonVoter, IsLeader: string(s.ID) == p.node.id, Ext: m,
		}
		if s.Suffrage == raft.Voter {
			known[s.ID].NodeType = autopilot.NodeVoter
		}
		if after := p.node.cfg.Timing.DeadAfter; after > 0 && m.silence() > after && !p.node.desk.heardWithin(string(s.ID), after) {
			known[s.ID].NodeStatus = autopilot.NodeFailed
		}
	}
	return known
}

// silence is how long a member has not answered this leader; one that was not
// asked yet was not silent.
func (m heardMember) silence() time.Duration {
	if m.at.IsZero() {
		return 0
	}
	return time.Since(m.at)
}

// FetchServerStats asks the members, all at once. One that does not answer is
// as far as it last said, and its silence counts as time without contact.
func (p *pilot) FetchServerStats(ctx context.Context, servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	answers := make(chan memberStats, len(servers))
	var asking sync.WaitGroup
	for id, s := range servers {
		asking.Go(func() {
			if string(id) == p.node.id {
				answers <- p.node.memberStats()
				return
			}
			m, err := askAddr[memberStats](ctx, p.node, string(s.Address), kindStats, struct{}{})
			if err == nil && m.ID == string(id) { // else another node listens there now
				answers <- m
			}
		})
	}
	asking.Wait()
	close(answers)
	heard := maps.Clone(*p.heard.Load())
	now := time.Now()
	for m := range answers {
		heard[raft.ServerID(m.ID)] = heardMember{m, now}
	}
	maps.DeleteFunc(heard, func(id raft.ServerID, _ heardMember) bool { return servers[id] == nil })
	stats := map[raft.ServerID]*autopilot.ServerStats{}
	for id := range servers {
		m, ok := heard[id]
		if !ok {
			m = heardMember{memberStats{Contact: -1}, now}
			heard[id] = m
		}
		stats[id] = &autopilot.ServerStats{LastContact: m.Contact, LastTerm: m.LastTerm, LastIndex: m.LastIndex}
		if !m.at.Equal(now) {
			stats[id].LastContact = max(m.Contact, 0) + now.Sub(m.at)
		}
	}
	p.heard.Store(&heard)
	return stats
}

// RemoveFailedServer takes a dead member out.
func (p *pilot) RemoveFailedServer(s *autopilot.Server) {
	log := p.node.log.With("peer", s.ID, "addr", s.Address)
	log.Warn("removing a member that was silent for too long", "after", p.node.cfg.Timing.DeadAfter)
	if err := p.node.raft.RemoveServer(s.ID, 0, joinTimeout).Error(); err != nil {
		log.Warn("remove member", "error", err)
	}
}

// draining tells whether a member is on its way down for a restart: it said
// so, and has not been away for so long that it counts as dead itself.
func (p *pilot) draining() bool {
	for _, m := range *p.heard.Load() {
		if m.Draining && m.silence() <= p.node.cfg.Timing.DeadAfter {
			return true
		}
	}
	return false
}

// promoter decides who votes.
type promoter struct{ *pilot }

// GetServerExt adds nothing.
func (promoter) GetServerExt(*autopilot.Config, *autopilot.ServerState) any { return nil }

// GetStateExt adds nothing.
func (promoter) GetStateExt(*autopilot.Config, *autopilot.State) any { return nil }

// GetNodeTypes leaves what KnownServers said.
func (promoter) GetNodeTypes(*autopilot.Config, *autopilot.State) map[raft.ServerID]autopilot.NodeType {
	return nil
}

// IsPotentialVoter counts those who vote now: a dead voter goes only when
// enough others vote already, not when they might soon.
func (promoter) IsPotentialVoter(t autopilot.NodeType) bool { return t == autopilot.NodeVoter }

// FilterFailedServerRemovals holds cleaning up while a member restarts.
func (p promoter) FilterFailedServerRemovals(_ *autopilot.Config, _ *autopilot.State, failed *autopilot.FailedServers) *autopilot.FailedServers {
	if p.draining() {
		return &autopilot.FailedServers{}
	}
	return failed
}

// CalculatePromotionsAndDemotions gives the vote to members that were healthy
// long enough and want it. A voter that was started again as a read replica
// gives its vote back if enough others vote. Unlike autopilot's own promoter it
// makes no exception for a leader that is new.
func (p promoter) CalculatePromotionsAndDemotions(c *autopilot.Config, s *autopilot.State) autopilot.RaftChanges {
	var changes autopilot.RaftChanges
	now := time.Now()
	for id, m := range s.Servers {
		told, _ := m.Server.Ext.(heardMember)
		switch {
		case !m.Health.IsStable(now, c.ServerStabilizationTime) || told.ID == "":
		case m.State == autopilot.RaftNonVoter && !told.NonVoter && !told.Draining:
			changes.Promotions = append(changes.Promotions, id)
		case m.State == autopilot.RaftVoter && told.NonVoter && len(s.Voters) > int(c.MinQuorum) && len(changes.Demotions) == 0:
			changes.Demotions = append(changes.Demotions, id)
		}
	}
	return changes
}

func (n *Node) serveStats(context.Context, string, struct{}) (memberStats, error) {
	return n.memberStats(), nil
}

func (n *Node) memberStats() memberStats {
	m := memberStats{ID: n.id, LastIndex: n.raft.LastIndex(), NonVoter: n.cfg.NonVoter, Draining: n.draining.Load()}
	m.LastTerm, _ = strconv.ParseUint(n.raft.Stats()["last_log_term"], 10, 64) // 0 is never healthy
	if n.raft.State() == raft.Leader {
		return m
	}
	m.Contact = -1
	if at := n.raft.LastContact(); !at.IsZero() {
		m.Contact = time.Since(at)
	}
	return m
}

// Drain announces that this node is about to stop and come back: meanwhile no
// member is cleaned up, this one is given no vote, and nothing waits for disk space any more.
func (n *Node) Drain() {
	n.draining.Store(true)
	n.store.stopWaiting()
}
