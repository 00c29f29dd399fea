package fsm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// HashCheckPolicy says how often state hashes are compared.
type HashCheckPolicy struct {
	Entries  uint64        // after so many entries
	Interval time.Duration // or after so long, if the state changed since
	Patience time.Duration // how long a question waits for nodes that are behind
}

// DefaultHashCheckPolicy returns the documented defaults.
func DefaultHashCheckPolicy() HashCheckPolicy {
	return HashCheckPolicy{Entries: 1000, Interval: 2 * time.Minute, Patience: 10 * time.Second}
}

// Ballot is what the members answered when asked for their hash at a mark: by node
// id, nodes that did not know it left out.
type Ballot struct {
	Hashes map[string]string
	Voters []string // of the Raft configuration
	Others int      // members without a vote
}

// errUndecided says that no hash has a majority of the voters.
var errUndecided = errors.New("no majority has one state hash")

// decide finds the hash of the majority of all voters, silent ones included.
func (b Ballot) decide(mark uint64) (HashVerdict, error) {
	votes := map[string]int{}
	for _, id := range b.Voters {
		if h, ok := b.Hashes[id]; ok {
			votes[h]++
		}
	}
	v := HashVerdict{Mark: mark}
	for h, n := range votes {
		if n > len(b.Voters)/2 {
			v.Hash = h
		}
	}
	if v.Hash == "" {
		return v, errUndecided
	}
	for id, h := range b.Hashes {
		if h == v.Hash {
			v.Agreed++
		} else {
			v.Differ = append(v.Differ, id)
		}
	}
	slices.Sort(v.Differ)
	return v, nil
}

// differ reports whether two nodes gave different hashes.
func (b Ballot) differ() bool {
	seen := ""
	for _, h := range b.Hashes {
		if seen != "" && h != seen {
			return true
		}
		seen = h
	}
	return false
}

// HashChecker is the actor on the leader that has the nodes compare their states:
// it logs a mark, asks every member for its hash there, and logs the verdict of the
// majority of the voters. So a node that is wrong stops, the leader as any other,
// and never more than a minority.
type HashChecker struct {
	fsm     *FSM
	propose Proposer
	ask     func(ctx context.Context, mark uint64) Ballot
	policy  HashCheckPolicy
	log     *slog.Logger
	leading atomic.Bool
	loop    *actor.Loop

	undecided atomic.Uint64

	// Owned by the loop.
	last time.Time // of the last check this node made
}

// NewHashChecker starts the checker; it rests until [HashChecker.Lead]. ask puts
// the question to every member, this node included.
func NewHashChecker(f *FSM, p Proposer, ask func(ctx context.Context, mark uint64) Ballot, policy HashCheckPolicy, log *slog.Logger) *HashChecker {
	c := &HashChecker{fsm: f, propose: p, ask: ask, policy: policy, log: log, last: time.Now()}
	c.loop = actor.Go(c.run)
	return c
}

// Lead tells whether this node leads.
func (c *HashChecker) Lead(leading bool) { c.leading.Store(leading) }

// Stop ends the actor.
func (c *HashChecker) Stop() { c.loop.Stop() }

// Undecided counts the checks that found differing hashes and no majority: an operator must find out which node is right.
func (c *HashChecker) Undecided() uint64 { return c.undecided.Load() }

// checkTick is how often the checker looks whether a check is due.
const checkTick = 200 * time.Millisecond

func (c *HashChecker) run(ctx context.Context) {
	tick := time.NewTicker(checkTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !c.due() {
			continue
		}
		c.last = time.Now()
		if err := c.check(ctx); err != nil && ctx.Err() == nil {
			c.log.Debug("comparing state hashes", "error", err)
		}
	}
}

// due reports whether a check is due. Between two checks of one node lies a second, whatever happens.
func (c *HashChecker) due() bool {
	state := c.fsm.State()
	if !c.leading.Load() || state.Level() < 2 {
		return false
	}
	since := time.Since(c.last)
	mark := c.fsm.LastMark()
	if state.Index-mark.Index >= c.policy.Entries && since >= min(time.Second, c.policy.Interval) {
		return true
	}
	return since >= c.policy.Interval && state.Hash() != mark.Hash
}

// check makes one comparison.
func (c *HashChecker) check(ctx context.Context) error {
	mark, _, err := c.propose.Propose(ctx, newMarkEntry())
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, c.policy.Patience)
	defer cancel()
	ballot := c.ask(asking, mark)
	if len(ballot.Voters)+ballot.Others < 2 {
		return nil // nobody to compare with
	}
	verdict, err := ballot.decide(mark)
	if err != nil {
		if ballot.differ() {
			c.undecided.Add(1)
			c.log.Error("nodes have different states and no majority agrees: compare state_hash in their /status, and restore the wrong ones", "entry", mark, "hashes", ballot.Hashes)
		}
		return err
	}
	if len(verdict.Differ) > 0 {
		c.log.Error("nodes whose state differs from the majority's stop now", "nodes", verdict.Differ, "entry", mark, "hashes", ballot.Hashes)
	}
	_, _, err = c.propose.Propose(ctx, newVerdictEntry(verdict))
	return err
}
