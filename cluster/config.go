package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/cluster/certs"
)

// Config says how to start a Node. The zero value of every field but DataDir,
// ClusterAddr and FSM is usable.
type Config struct {
	// DataDir holds the node id, the log and the snapshots. It belongs to one process.
	DataDir string
	// NodeID is normally empty: the id is made at the first start and kept in
	// DataDir. A different id than the one kept there is refused.
	NodeID string

	// ClusterAddr is the host:port that Raft and calls listen on; port 0 picks one.
	ClusterAddr string
	// GossipAddr is the host:port (TCP and UDP) of discovery; empty means no gossip.
	GossipAddr string
	// AdvertiseCluster and AdvertiseGossip are the host:port that peers use, when
	// that is not what the node listens on (containers, NAT).
	AdvertiseCluster, AdvertiseGossip string
	// AdvertiseAPI is the address of the node's public HTTP API, told to peers.
	AdvertiseAPI string
	// Version of the binary, told to peers.
	Version string
	// Level is the newest format level this binary knows, told to the leader; 0 is 1.
	Level uint8
	// RequiredLevel returns the level that a node must know to be a member: the
	// state's. Nodes below it are refused. nil: any.
	RequiredLevel func() uint8

	// BootstrapExpect is the number of fresh nodes that form a new cluster. It
	// means nothing once a cluster exists. With no Join and a value of 0 or 1 a
	// fresh node forms a cluster of its own; a negative one forms none and waits
	// to be told where to join (JoinVia).
	BootstrapExpect int
	// Join lists cluster addresses (host or host:port, default port: this node's)
	// of other nodes; a name may stand for several. Join without
	// BootstrapExpect ≥ 2 only ever joins.
	Join []string
	// NonVoter makes this node a read replica: it joins without a vote.
	NonVoter bool
	// Secret, the same on every node, authenticates every connection both ways
	// and encrypts gossip. It or TLS is required when anything listens beyond loopback.
	Secret string
	// ClusterName keeps clusters apart: it is in the certificates of their nodes
	// and in what is derived from the secret. Default "flagraft".
	ClusterName string
	// TLS secures the cluster port with certificates on both sides; with it a
	// Secret is not required, and is a second proof when it is there.
	TLS TLS

	// FSM is the replicated state machine; BatchingFSM is used when implemented.
	FSM raft.FSM
	// FSMIndex returns the index of the last entry that the FSM applied, also
	// right after a restore. Without it the node's own count is used.
	FSMIndex func() uint64

	// Heartbeat exchanges reports with the leader.
	Heartbeat Heartbeat

	// Logger receives everything; nil means slog.Default.
	Logger *slog.Logger
	// OnFatal is called once with ErrCorrupt, ErrDiskHung or another error after
	// which the node must not go on. The default logs it and exits with status 1.
	OnFatal func(error)
	// OnRecovered, if set, is called once the FSM has what is known to be
	// committed, before the node listens or joins anything; its error ends the start.
	OnRecovered func() error

	// SnapshotThresholdBytes of log since the last snapshot (or the size of that
	// snapshot, if larger) start a new one; each entry weighs 1 KB beside its bytes. Default 64 MB.
	SnapshotThresholdBytes int64
	// TrailingBytes of log are kept behind a snapshot for followers that lag. Default 64 MB.
	TrailingBytes int64
	// LogCacheBytes bounds the log entries kept in memory. Default 16 MB.
	LogCacheBytes int64
	// MaxEntryBytes bounds one entry and one call's payload. Default 64 MB.
	MaxEntryBytes int

	// MinFreeBytes is the free disk space below which this node counts as full:
	// it hands leadership on, and the cluster takes no writes when no voter with
	// space is left to lead or a majority of them is full. Default: a twentieth of
	// the volume, from 512 MB to 2 GB, and never more than a tenth.
	MinFreeBytes uint64
	// statSpace looks at the disk; tests give their own.
	statSpace func(dir string) (free, total uint64, err error)

	Timing Timing
}

// Timing overrides the timers; tests use shorter ones.
type Timing struct {
	// Election is Raft's heartbeat and election timeout. Default 1 s: heartbeats
	// wait behind fsync (see serialTransport), so do not go lower in production.
	Election time.Duration
	// Lease after which a leader that hears from no majority steps down. Default Election/2.
	Lease time.Duration
	// Commit is how long followers may wait to learn of a commit. Default 5 ms.
	Commit time.Duration
	// Heartbeat is the period of reports to the leader. Default 100 ms.
	Heartbeat time.Duration
	// Discovery is the period of looking for peers while not in a cluster. Default 500 ms.
	Discovery time.Duration
	// Enqueue bounds the wait for a place in Raft's queue. Default 2 s.
	Enqueue time.Duration
	// DiskHang is the age of a log write that counts as a hung disk. Default 8 s:
	// with an election behind it, others lead within 15 s.
	DiskHang time.Duration
	// ReadyWithoutLeader is how long a node with state waits for a leader before
	// it calls itself ready for reads. Default 30 s.
	ReadyWithoutLeader time.Duration
	// Stall is how long a snapshot on its way to another node may stand still. Default 30 s.
	Stall time.Duration
	// Dial bounds connecting and the handshake. Default 3 s.
	Dial time.Duration
	// GossipKeys is the period of comparing gossip keys with the leader. Default 5 s.
	GossipKeys time.Duration
	// Certificates is the period of looking for changed certificate files. Default 5 s.
	Certificates time.Duration
	// PeerForget is how long a node counts as seen after its last sign. Default 5 s.
	PeerForget time.Duration
	// Autopilot is the period of looking at the members' health on the leader. Default 1 s.
	Autopilot time.Duration
	// Stable is how long a new member has to be healthy before it gets its vote. Default 10 s.
	Stable time.Duration
	// DeadAfter is how long a member has to be silent before it is removed, as
	// long as at least max(3, BootstrapExpect) voters stay. Default 5 min; negative: never.
	DeadAfter time.Duration
}

// Heartbeat is the small exchange that every node, the leader included, has
// with the leader about every Timing.Heartbeat and soon after Nudge. Any
// function may be nil. They are called from the node's own goroutines, one
// call of each at a time, and must not block.
type Heartbeat struct {
	// Collect returns this node's report.
	Collect func() []byte
	// Merge runs on the leader when a report changed: node id → newest report of
	// the nodes that are ready and were heard from lately. Reports must not be changed.
	Merge func(reports map[string][]byte) []byte
	// Deliver hands what the leader merged to this node, when it changed.
	Deliver func(merged []byte)
}

func orDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// withDefaults returns c completed, or why it cannot be used.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.DataDir == "":
		return c, errors.New("cluster: DataDir is required")
	case c.ClusterAddr == "":
		return c, errors.New("cluster: ClusterAddr is required")
	case c.FSM == nil:
		return c, errors.New("cluster: FSM is required")
	}
	if err := errors.Join(certs.CheckName(c.clusterName()), c.TLS.check()); err != nil {
		return c, err
	}
	if err := c.checkExposure(); err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnFatal == nil {
		log := c.Logger
		c.OnFatal = func(err error) {
			log.Error("node stops", "error", err)
			os.Exit(1)
		}
	}
	if c.statSpace == nil {
		c.statSpace = statSpace
	}
	orDefault(&c.SnapshotThresholdBytes, 64<<20)
	orDefault(&c.TrailingBytes, 64<<20)
	orDefault(&c.LogCacheBytes, 16<<20)
	orDefault(&c.MaxEntryBytes, 64<<20)
	t := &c.Timing
	orDefault(&t.Election, time.Second)
	orDefault(&t.Lease, t.Election/2)
	orDefault(&t.Commit, 5*time.Millisecond)
	orDefault(&t.Heartbeat, 100*time.Millisecond)
	orDefault(&t.Discovery, 500*time.Millisecond)
	orDefault(&t.Enqueue, 2*time.Second)
	orDefault(&t.DiskHang, 8*time.Second)
	orDefault(&t.ReadyWithoutLeader, 30*time.Second)
	orDefault(&t.Stall, 30*time.Second)
	orDefault(&t.Dial, 3*time.Second)
	orDefault(&t.GossipKeys, 5*time.Second)
	orDefault(&t.Certificates, 5*time.Second)
	orDefault(&t.PeerForget, 5*time.Second)
	orDefault(&t.Autopilot, time.Second)
	orDefault(&t.Stable, 10*time.Second)
	if t.DeadAfter == 0 {
		t.DeadAfter = 5 * time.Minute
	}
	return c, nil
}

// checkExposure refuses to listen beyond loopback without a secret or certificates.
func (c Config) checkExposure() error {
	if c.Secret != "" || c.TLS.enabled() {
		return nil
	}
	for name, addr := range map[string]string{"cluster": c.ClusterAddr, "gossip": c.GossipAddr} {
		if addr == "" {
			continue
		}
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("cluster: %s address: %w", name, err)
		}
		if !isLoopback(host) {
			return fmt.Errorf("cluster: the %s address %q is reachable from other hosts: set a cluster secret or certificates", name, addr)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// formsAlone tells whether a fresh node bootstraps itself without asking anybody.
func (c Config) formsAlone() bool {
	return len(c.Join) == 0 && (c.BootstrapExpect == 0 || c.BootstrapExpect == 1) && !c.NonVoter
}
