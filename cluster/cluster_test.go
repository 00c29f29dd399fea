package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// memberlist lets its last probe run out after Shutdown.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("github.com/flagraft/flagraft/cluster.(*Node).await.func1")) // Raft forgets what is queued when it shuts down
}

// journal is a state machine that remembers every entry, so that a lost, a
// doubled and a reordered one all show.
type journal struct {
	mu      sync.Mutex
	entries []string
	index   uint64
	moved   *sync.Cond
	held    sync.RWMutex // written by whoever keeps snapshots from being written
}

func newJournal() *journal {
	j := &journal{}
	j.moved = sync.NewCond(&j.mu)
	return j
}

func (j *journal) Apply(l *raft.Log) any { return j.ApplyBatch([]*raft.Log{l})[0] }

func (j *journal) ApplyBatch(logs []*raft.Log) []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	answers := make([]any, len(logs))
	for i, l := range logs {
		if l.Index <= j.index {
			panic(fmt.Sprintf("entry %d applied after %d", l.Index, j.index))
		}
		j.entries = append(j.entries, string(l.Data))
		j.index = l.Index
		answers[i] = len(j.entries)
	}
	j.moved.Broadcast()
	return answers
}

type journalState struct {
	Entries []string
	Index   uint64
	held    *sync.RWMutex
}

func (j *journal) Snapshot() (raft.FSMSnapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journalState{append([]string(nil), j.entries...), j.index, &j.held}, nil
}

func (s journalState) Persist(sink raft.SnapshotSink) error {
	s.held.RLock()
	defer s.held.RUnlock()
	if err := json.NewEncoder(sink).Encode(s); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

func (s journalState) Release() {}

func (j *journal) Restore(r io.ReadCloser) error {
	defer r.Close()
	var s journalState
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.index = s.Entries, s.Index
	j.moved.Broadcast()
	return nil
}

func (j *journal) at() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.index
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.entries...)
}

// wait blocks until index is applied, or the test's patience ends.
func (j *journal) wait(t *testing.T, index uint64) {
	t.Helper()
	late := time.AfterFunc(patience, func() { j.mu.Lock(); j.moved.Broadcast(); j.mu.Unlock() })
	defer late.Stop()
	deadline := time.Now().Add(patience)
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.index < index && time.Now().Before(deadline) {
		j.moved.Wait()
	}
	require.GreaterOrEqual(t, j.index, index)
}

// patience is the limit after which a test gives up; nothing is asserted about time.
const patience = 60 * time.Second

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func testLog() *slog.Logger {
	if os.Getenv("CLUSTER_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// member is a node with what it takes to start it again.
type member struct {
	t     *testing.T
	cfg   Config
	node  *Node
	fsm   *journal
	fatal chan error
}

func newMember(t *testing.T, change func(*Config)) *member {
	m := &member{t: t, fatal: make(chan error, 1)}
	m.cfg = Config{
		DataDir: t.TempDir(), ClusterAddr: freeAddr(t), Logger: testLog(), Version: "test",
		OnFatal: func(err error) { m.fatal <- err },
		Timing: Timing{
			Election: time.Second, Heartbeat: 20 * time.Millisecond,
			Discovery: 30 * time.Millisecond, DiskHang: time.Minute,
			Autopilot: 50 * time.Millisecond, Stable: 300 * time.Millisecond,
		},
	}
	m.cfg.AdvertiseAPI = "api-of-" + m.cfg.ClusterAddr
	if change != nil {
		change(&m.cfg)
	}
	t.Cleanup(m.stop)
	return m
}

func (m *member) start() *member {
	m.t.Helper()
	require.NoError(m.t, m.tryStart())
	return m
}

func (m *member) tryStart() error {
	m.fsm = newJournal()
	m.cfg.FSM, m.cfg.FSMIndex = m.fsm, m.fsm.at
	node, err := Start(context.Background(), m.cfg)
	if err == nil {
		m.node = node
	}
	return err
}

func (m *member) stop() {
	if m.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.node.Stop(ctx)
		m.node = nil
	}
}

func (m *member) crash() {
	m.node.crash()
	m.node = nil
}

func (m *member) propose(entry string) Applied {
	m.t.Helper()
	applied, err := m.node.Propose(patient(m.t), []byte(entry))
	require.NoError(m.t, err)
	return applied
}

// ports hands out each port once: tests run beside each other, and a node has
// to find its own free when it starts again.
var ports sync.Map

// freeAddr picks a port below the range that outgoing connections take theirs from.
func freeAddr(t *testing.T) string {
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 12000+rand.N(18000))
		if _, taken := ports.LoadOrStore(addr, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			defer l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// trio makes three members that expect each other; they are not started.
func trio(t *testing.T, change func(i int, c *Config)) []*member {
	return group(t, 3, 3, change)
}

func group(t *testing.T, count, expect int, change func(i int, c *Config)) []*member {
	members := make([]*member, count)
	for i := range members {
		members[i] = newMember(t, nil)
	}
	for i, m := range members {
		m.cfg.BootstrapExpect = expect
		for k, other := range members {
			if k != i {
				m.cfg.Join = append(m.cfg.Join, other.cfg.ClusterAddr)
			}
		}
		if change != nil {
			change(i, &m.cfg)
		}
	}
	return members
}

// startTrio starts three members and waits until all are ready.
func startTrio(t *testing.T, change func(i int, c *Config)) []*member {
	members := trio(t, change)
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	return members
}

// steady keeps a leader that a stall of a busy machine would depose.
func steady(_ int, c *Config) { c.Timing.Election, c.Timing.Lease = 4*time.Second, 4*time.Second }

func waitReady(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		require.NoError(t, m.node.WaitReady(patient(t)), "node %s", m.cfg.ClusterAddr)
	}
}

// leaderOf waits until one of the members leads.
func leaderOf(t *testing.T, members ...*member) *member {
	t.Helper()
	var found *member
	eventually(t, func() bool {
		for _, m := range members {
			if m.node != nil && m.node.IsLeader() {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func followersOf(leader *member, members ...*member) []*member {
	var list []*member
	for _, m := range members {
		if m != leader && m.node != nil {
			list = append(list, m)
		}
	}
	return list
}

// receive waits for one.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, patience, 5*time.Millisecond)
}

// proposeAnywhere proposes to whoever leads until the entry is surely in. An
// entry whose outcome is unknown is tried again under another name, so that a
// double is one. It returns the name that was acknowledged, too.
func proposeAnywhere(t *testing.T, entry string, members ...*member) (Applied, string) {
	t.Helper()
	ctx := patient(t)
	for attempt := 0; ; attempt++ {
		applied, err := leaderOf(t, members...).node.Propose(ctx, []byte(entry))
		switch {
		case err == nil:
			return applied, entry
		case errors.Is(err, ErrUnknownOutcome):
			entry = fmt.Sprintf("%s again %d", entry, attempt)
		default:
			require.ErrorIs(t, err, ErrNotLeader)
		}
	}
}

var errTest = errors.New("test")

// A node that comes into no cluster says why: whoever started it sees nothing else of a mistake in its settings.
func TestANodeInNoClusterSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"itself":       {func(c *Config) { c.BootstrapExpect, c.Join = 1, []string{c.ClusterAddr} }, "leave --join out"},
		"alone of 3":   {func(c *Config) { c.BootstrapExpect, c.Join = 3, []string{c.ClusterAddr} }, "1 of 3 nodes"},
		"not told":     {func(c *Config) { c.BootstrapExpect = -1 }, "to be told where to join"},
		"read replica": {func(c *Config) { c.NonVoter = true }, "to be told where to join"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := &logBook{}
			newMember(t, func(cfg *Config) {
				cfg.Logger = book.logger()
				c.change(cfg)
			}).start()
			book.says(t, c.says)
		})
	}
	t.Run("nobody forms", func(t *testing.T) {
		t.Parallel()
		first := newMember(t, func(c *Config) { c.BootstrapExpect = -1 }).start()
		book := &logBook{}
		newMember(t, func(c *Config) { c.Logger, c.Join = book.logger(), []string{first.node.Addr()} }).start()
		book.says(t, "the nodes that answer are in no cluster either")
	})
}

// A node that waits for days, for whatever reason, says so in few of its rounds.
func TestANodeThatWaitsDoesNotFillItsLog(t *testing.T) {
	t.Parallel()
	lost := peerInfo{ID: "lost", Address: "127.0.0.1:1", ClusterID: "another", Formed: true}
	for says, c := range map[string]struct {
		held  pledge
		peers []peerInfo
	}{
		"half joined has to come back":           {held: pledge{ClusterID: "c"}},
		"half joined to another cluster":         {held: pledge{ClusterID: "c"}, peers: []peerInfo{lost}},
		"pledged to a node that does not answer": {held: pledge{Coordinator: "lost", ClusterID: "c"}},
		"expects another number of nodes":        {peers: []peerInfo{{ID: "b", Expect: 5}}},
		"msg=join":                               {held: pledge{ClusterID: "another"}, peers: []peerInfo{lost}},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			book := &logBook{}
			m := newMember(t, func(c *Config) { c.BootstrapExpect, c.Logger = 3, book.logger() }).start()
			node := m.node
			m.stop()
			if c.held.given() { // its store is closed
				node.pledges.now = c.held
			}
			for range 10 * waitsAgain {
				node.form(t.Context(), c.peers)
			}
			told := strings.Count(book.String(), says)
			require.NotZero(t, told)
			require.LessOrEqual(t, told, waitsFirst+10)
		})
	}
}
