package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// births collects the ids of the clusters that nodes made, from their logs.
type births struct {
	slog.Handler
	mu   *sync.Mutex
	made map[string]bool
}

func newBirths() *births {
	return &births{Handler: testLog().Handler(), mu: &sync.Mutex{}, made: map[string]bool{}}
}

func (b *births) Enabled(context.Context, slog.Level) bool { return true }

func (b *births) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == formedText {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "cluster" {
				b.mu.Lock()
				b.made[a.Value.String()] = true
				b.mu.Unlock()
			}
			return true
		})
	}
	if b.Handler.Enabled(ctx, r.Level) {
		return b.Handler.Handle(ctx, r)
	}
	return nil
}

func (b *births) WithAttrs(a []slog.Attr) slog.Handler {
	return &births{b.Handler.WithAttrs(a), b.mu, b.made}
}

func (b *births) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.made)
}

// race is one random start of some nodes that are told to form a cluster.
type race struct {
	t       *testing.T
	random  *rand.Rand
	births  *births
	members []*member
	expect  int
	forms   bool // whether the plan lets a cluster form
	what    []string
}

func newRace(t *testing.T, seed uint64) *race {
	r := &race{t: t, random: rand.New(rand.NewPCG(seed, 5)), births: newBirths(), forms: true}
	size := 3 + 2*r.random.IntN(2)
	// Two groups that never meet each other could both form with less.
	r.expect = size/2 + 1 + r.random.IntN(size-size/2)
	r.what = append(r.what, fmt.Sprintf("%d nodes, expect %d", size, r.expect))
	secret, gossip := r.random.IntN(2) == 0, r.random.IntN(3) == 0
	r.members = group(t, size, r.expect, func(_ int, c *Config) {
		c.Logger = slog.New(r.births)
		c.Timing.Election, c.Timing.Lease, c.Timing.Discovery = 400*time.Millisecond, 300*time.Millisecond, 20*time.Millisecond
		c.Timing.Dial, c.Timing.PeerForget = time.Second, time.Second
		if secret {
			c.Secret = "a secret that is long enough"
		}
		if gossip {
			c.GossipAddr = "127.0.0.1:0"
		}
	})
	return r
}

func (r *race) nap(most time.Duration) {
	pause(r.t.Context(), time.Duration(r.random.Int64N(int64(most))))
}

func (r *race) add(format string, args ...any) { r.what = append(r.what, fmt.Sprintf(format, args...)) }

// knowSome lets each node know the first ones only, or one other.
func (r *race) knowSome() {
	r.add("each knows one other")
	for i, m := range r.members {
		m.cfg.Join = []string{r.members[(i+1)%len(r.members)].cfg.ClusterAddr}
	}
}

// wrongExpect gives one node another number than the others.
func (r *race) wrongExpect() {
	odd := r.random.IntN(len(r.members))
	wrong := 2 + r.random.IntN(len(r.members)+1)
	if wrong == r.expect {
		wrong++
	}
	r.members[odd].cfg.BootstrapExpect = wrong
	r.forms = len(r.members)-1 >= r.expect
	r.add("node %d expects %d", odd, wrong)
}

// startAll starts those that do not run, in random order.
func (r *race) startAll() {
	for _, i := range r.random.Perm(len(r.members)) {
		if r.members[i].node == nil {
			r.members[i].start()
			r.nap(150 * time.Millisecond)
		}
	}
}

// crashes kills and starts nodes while they form.
func (r *race) crashes() {
	rounds := 3 + r.random.IntN(8)
	r.add("%d crashes and starts", rounds)
	for range rounds {
		m := r.members[r.random.IntN(len(r.members))]
		if m.node != nil {
			m.crash()
		} else {
			m.start()
		}
		r.nap(120 * time.Millisecond)
	}
}

// meetLate keeps two groups apart for a while; at most one of them is large enough.
func (r *race) meetLate() {
	cut := 1 + r.random.IntN(len(r.members)-1)
	r.add("two groups, cut at %d", cut)
	groups := [][]*member{r.members[:cut], r.members[cut:]}
	for _, g := range groups {
		for i, m := range g {
			m.cfg.Join = []string{g[(i+1)%len(g)].cfg.ClusterAddr}
		}
	}
	r.startAll()
	r.nap(time.Second)
	a, b := groups[0][r.random.IntN(len(groups[0]))], groups[1][r.random.IntN(len(groups[1]))]
	for _, m := range []*member{a, b} { // one of them may have a cluster by now: the other finds it
		other := a
		if m == a {
			other = b
		}
		_ = m.node.JoinVia([]string{other.cfg.ClusterAddr})
	}
	// A node that is in a cluster is asked by the others, and asks nobody new: tell those who are not.
	for _, m := range r.members {
		_ = m.node.JoinVia([]string{a.cfg.ClusterAddr, b.cfg.ClusterAddr})
	}
}

func (r *race) run(seed uint64) {
	switch seed % 6 {
	case 0:
	case 1:
		r.knowSome()
	case 2:
		r.wrongExpect()
	case 3:
		r.meetLate()
	case 4:
		r.crashes()
	case 5:
		r.knowSome()
		r.crashes()
	}
	r.startAll()
	if !r.forms {
		pause(r.t.Context(), 1500*time.Millisecond)
		require.Zero(r.t, r.births.count(), "a cluster formed that must not")
		for _, m := range r.members {
			require.Equal(r.t, "forming", m.node.Status().State)
			require.Empty(r.t, m.node.ClusterID())
		}
		return
	}
	waitReady(r.t, r.members...)
	sameCluster(r.t, r.members...)
	require.Equal(r.t, 1, r.births.count(), "clusters made")
	eventually(r.t, func() bool { return len(leaderOf(r.t, r.members...).node.Members()) == len(r.members) })
	index := committedIndex(r.t, "x", r.members...)
	for _, m := range r.members {
		m.fsm.wait(r.t, index)
	}
}

// TestBootstrapRaces starts nodes in random ways: there is always exactly one
// cluster, or none where none may form. FLAGRAFT_RACES says how many races are
// run (12), FLAGRAFT_RACE runs the one with this seed.
func TestBootstrapRaces(t *testing.T) {
	t.Parallel()
	count := uint64(12)
	if text := os.Getenv("FLAGRAFT_RACES"); text != "" {
		var err error
		count, err = strconv.ParseUint(text, 10, 32)
		require.NoError(t, err)
	}
	first := uint64(1)
	if text := os.Getenv("FLAGRAFT_RACE"); text != "" {
		var err error
		first, err = strconv.ParseUint(text, 10, 32)
		require.NoError(t, err)
		count = 1
	}
	slots := make(chan struct{}, 3) // more only starve each other
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			t.Cleanup(func() { <-slots })
			r := newRace(t, seed)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("FLAGRAFT_RACE=%d: %s; clusters %v", seed, strings.Join(r.what, ", "), r.births.made)
					for i, m := range r.members {
						if m.node != nil {
							s := m.node.Status()
							t.Logf("node %d %s: %s, cluster %q, pledge %+v, members %d", i, m.node.ID(), s.State, s.ClusterID, m.node.pledges.current(), len(s.Members))
						}
					}
				}
			})
			r.run(seed)
		})
	}
}
