package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/cluster/actor"
)

// Node is one member of a cluster. Its methods are safe for concurrent use.
type Node struct {
	cfg  Config
	id   string
	log  *slog.Logger
	lock *os.File

	measures *measures

	store   *logStore
	snaps   *snapshotStore
	machine *machine
	raft    *raft.Raft
	wire    *serialTransport

	mux    *mux
	tls    *wireTLS // nil without certificates
	keys   *keyring // nil: gossip is not encrypted
	caller *caller
	callee *callee
	gossip *gossip // nil without gossip

	space   spaceWatch
	lead    leadership
	round   *actor.Actor[readRequest] // reads of this node that wait for an index
	confirm *actor.Actor[readRequest] // reads of all nodes that the leader confirms
	visible atomic.Pointer[visibleIndex]

	desk       *heartbeatDesk
	levels     levelGate
	follow     following
	tuning     sync.Mutex // Raft's ReloadConfig is read, change, write; used a few times an hour
	succession succession
	nudge      actor.Signal
	ready      atomic.Bool
	readyC     chan struct{}
	readyOnce  sync.Once
	clusterID  atomic.Pointer[string]
	pledges    *pledgeBook
	peers      *peerTable
	told       atomic.Pointer[[]string] // further addresses to ask: JoinVia
	look       actor.Signal             // the formation loop should go on now
	rounds     int                      // of the formation loop outside a cluster, see waits
	pilot      atomic.Pointer[pilot]    // nil = does not lead
	draining   atomic.Bool
	transfers  atomic.Int32    // of leadership, under way
	doubt      atomic.Bool     // somebody said that this node was removed
	rival      atomic.Bool     // a node spoke that this one does not listen to, see hearsRaft
	strangers  map[string]bool // whom recovery left out; read at the start
	removed    atomic.Bool
	onRemoved  atomic.Pointer[func()]
	fatalOnce  sync.Once
	loops      []*actor.Loop // in the order in which they are stopped
	stopOnce   sync.Once
	stopErr    error
	stopped    atomic.Bool
	asked      atomic.Int64  // requests that Raft has not answered
	dead       chan struct{} // closed when Raft has shut down
}

// Start opens the data directory, brings the FSM to the newest state known to
// be committed, and starts to form, join or continue a cluster. It returns as
// soon as the node listens; Ready tells when it can serve. ctx bounds Start only.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{measures: newMeasures(), cfg: cfg, log: cfg.Logger, readyC: make(chan struct{}), dead: make(chan struct{}), nudge: actor.NewSignal(), look: actor.NewSignal()}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.closeAll())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	if err := n.openStorage(); err != nil {
		return n.advise(err)
	}
	began := time.Now()
	n.space.dir, n.space.min, n.space.stat, n.space.full = n.cfg.DataDir, n.cfg.MinFreeBytes, n.cfg.statSpace, n.store.lastFull
	n.machine = newMachine(n.cfg.FSM, n.cfg.FSMIndex)
	n.snaps.opened = n.machine.restored.Store
	if err := n.machine.recover(ctx, n.snaps, n.store); err != nil {
		return n.advise(err)
	}
	hadState := n.machine.applied.Load() > 0 || n.snaps.size.Load() > 0
	n.log.Info("state recovered", "node", n.id, "applied", n.machine.applied.Load(), "took", time.Since(began))
	if check := n.cfg.OnRecovered; check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	if err := n.listen(); err != nil {
		return err
	}
	if err := n.takeBackTerm(); err != nil {
		return err
	}
	gossip, err := n.gossipConfig() // before Raft: a node that cannot go on must not have formed a cluster
	if err != nil {
		return err
	}
	if err := n.startRaft(); err != nil {
		return err
	}
	if err := n.loadMembership(); err != nil {
		return err
	}
	if err := n.startGossip(gossip); err != nil {
		return err
	}
	n.startActors(hadState)
	n.mux.hears = n.hearsRaft
	n.mux.run(n.callee.serve)
	return nil
}

// advise tells what to do about damage. Nothing was served, nothing told to others.
func (n *Node) advise(err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w (the node does not start on damaged data: check the disk, move %s away and start the node with --join; "+
		"it comes back under a new id and gets everything from the others; a node that is alone restores a backup)", err, n.cfg.DataDir)
}

// openStorage locks the data directory and opens what is in it.
func (n *Node) openStorage() error {
	dir := n.cfg.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil { // somebody else's, as with some volumes: then it is theirs to close
			n.log.Warn("others may look into the data directory", "dir", dir, "error", err)
		}
	}
	lock, err := lockDataDir(dir)
	if err != nil {
		return err
	}
	n.lock = lock
	id, err := loadIdentity(dir, n.cfg.NodeID)
	if err != nil {
		return err
	}
	n.id = id.NodeID
	n.log = n.log.With("node", n.id[:min(8, len(n.id))])
	if !id.LogMade {
		// The log was never complete, so nothing was ever in it: the node ended while it made the file.
		for _, name := range []string{logFileName, extentFileName} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cluster: %w", err)
			}
		}
	}
	if n.store, err = openLogStore(dir, n.cfg.LogCacheBytes, n.fatal); err != nil {
		return err
	}
	n.store.took = n.measures.store.Observe
	if !id.LogMade {
		id.LogMade = true
		if err := writeIdentity(dir, id); err != nil {
			return err
		}
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, newRaftLogger(n.log))
	if err != nil {
		return fmt.Errorf("cluster: open snapshots in %s: %w", filepath.Join(dir, "snapshots"), err)
	}
	if err := checkSnapshots(dir); err != nil {
		return err
	}
	if err := removeLeftovers(dir); err != nil { // after the check: it tells which are the newest
		return err
	}
	n.snaps = &snapshotStore{SnapshotStore: files, dir: dir}
	return nil
}

func (n *Node) listen() error {
	keys, err := deriveKeys(n.cfg.Secret, n.cfg.clusterName())
	if err != nil {
		return err
	}
	if n.tls, err = openTLS(n.cfg.TLS, n.cfg.clusterName(), n.log); err != nil {
		return err
	}
	if n.keys, err = openKeyring(n.cfg.DataDir, keys, n.tls != nil); err != nil {
		return err
	}
	l, err := net.Listen("tcp", n.cfg.ClusterAddr)
	if err != nil {
		return fmt.Errorf("cluster: listen: %w", err)
	}
	if n.cfg.AdvertiseCluster, err = advertise(n.cfg.AdvertiseCluster, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	n.mux = newMux(l, n.cfg.AdvertiseCluster, keys.connection, n.tls, n.id, n.cfg.Timing.Dial, n.cfg.Timing.Stall, n.log)
	n.caller = newCaller(func(ctx context.Context, addr string) (net.Conn, error) {
		return n.mux.dial(ctx, addr, purposeCall, "")
	}, n.cfg.MaxEntryBytes)
	n.callee = &callee{leading: n.IsLeader, limit: n.cfg.MaxEntryBytes, log: n.log}
	return nil
}

func (n *Node) startActors(hadState bool) {
	n.confirm = actor.StartBatch(readQueue, n.confirmRound)
	n.round = actor.StartBatch(readQueue, n.readRound)
	n.desk = newHeartbeatDesk(n.cfg.Heartbeat.Merge, n.cfg.Timing.Heartbeat)
	n.handleInternal()
	n.loops = []*actor.Loop{
		actor.Go(n.runFormation),
		actor.Go(n.runLeadership),
		actor.Go(func(ctx context.Context) { n.runHeartbeat(ctx, hadState) }),
		actor.Go(n.runMaintenance),
		actor.Go(n.runSpace),
		actor.Go(n.runCertificates),
		actor.Go(n.runGossipKeys),
		actor.Go(n.runAutopilot),
		actor.Go(func(ctx context.Context) { n.store.disk.run(ctx, n.cfg.Timing.DiskHang, n.fatal) }),
	}
}

// fatal stops the process (or whatever OnFatal does), once.
func (n *Node) fatal(err error) {
	n.fatalOnce.Do(func() {
		n.log.Error("fatal", "error", err)
		if errors.Is(err, ErrDiskHung) && n.mux != nil {
			// A process with a thread in a hung write cannot end, and its sockets stay
			// open until the disk answers: the others would wait for us.
			n.mux.hangUp()
		}
		n.cfg.OnFatal(err)
	})
}

// ID returns the node's id, which lives in the data directory.
func (n *Node) ID() string { return n.id }

// Addr returns the cluster address that peers use.
func (n *Node) Addr() string { return n.cfg.AdvertiseCluster }

// ClusterID returns the id made at bootstrap, or "" before the node has a cluster.
func (n *Node) ClusterID() string {
	if id := n.clusterID.Load(); id != nil {
		return *id
	}
	return ""
}

// Stop leaves in order: no new membership, leadership handed over (a few
// tries), gossip told, Raft and the stores closed. The node stays a member of
// the Raft configuration. ctx bounds the handing over; the rest is always done.
func (n *Node) Stop(ctx context.Context) error {
	n.stopOnce.Do(func() {
		n.Drain()
		n.stopped.Store(true)
		n.loops[0].Stop() // formation
		n.handOver(ctx)
		n.gossip.leave()
		for _, l := range n.loops {
			l.Stop()
		}
		n.drain()
		kept := n.store.keepCommit(n.raft.CommitIndex())
		n.stopErr = errors.Join(kept, n.closeAll())
	})
	return n.stopErr
}

// transferTries bounds the attempts of an orderly stop; a transfer can fail under writes.
const transferTries = 3

func (n *Node) handOver(ctx context.Context) {
	for range transferTries {
		if n.raft.State() != raft.Leader || len(n.voters()) < 2 {
			return
		}
		err := n.TransferLeadership(ctx)
		if err == nil {
			return
		}
		n.log.Warn("leadership transfer", "error", err)
		if !pause(ctx, 100*time.Millisecond) {
			return
		}
	}
}

// crash stops without telling anybody, as a killed process would.
func (n *Node) crash() {
	n.stopOnce.Do(func() {
		n.stopped.Store(true)
		n.stopErr = n.closeAll()
	})
}

// closeAll closes what was opened, in an order that lets each part end; it
// serves a failed Start, too.
func (n *Node) closeAll() error {
	var errs []error
	for _, l := range n.loops {
		l.Stop()
	}
	n.gossip.shutdown()
	if n.mux != nil {
		n.mux.cancel() // running calls end
	}
	if n.store != nil {
		n.store.stopWaiting()
	}
	if n.raft != nil {
		down := n.raft.Shutdown()
		n.wire.stopPipelines()
		errs = append(errs, down.Error())
		close(n.dead)
	}
	if n.wire != nil {
		n.wire.CloseStreams()
		errs = append(errs, n.wire.Close())
	}
	for _, a := range []*actor.Actor[readRequest]{n.round, n.confirm} {
		if a != nil {
			a.Stop()
		}
	}
	if n.mux != nil {
		n.mux.close()
		n.caller.close()
	}
	if n.store != nil {
		errs = append(errs, n.store.close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}

// advertise completes the address peers use: what was configured, else where
// the node listens, with this host's first private address for a wildcard.
func advertise(configured string, listening net.Addr) (string, error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "", err
	}
	if configured != "" {
		if host, port, err = advertised(configured, port); err != nil {
			return "", err
		}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = hostAddress(); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(host, port), nil
}

// advertised takes an address apart that peers are told. A host alone has the given port, and a port alone no host.
func advertised(addr, port string) (string, string, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		host, p, err = net.SplitHostPort(addr + ":0")
	}
	if err != nil { // an IPv6 address without brackets, or nothing
		host, p = addr, "0"
	}
	if p == "" || p == "0" {
		p = port
	}
	_, badPort := strconv.ParseUint(p, 10, 16)
	_, badIP := netip.ParseAddr(host)
	if badPort != nil || strings.ContainsAny(host, "/[] ") || strings.Contains(host, ":") && badIP != nil {
		return "", "", fmt.Errorf("cluster: other nodes cannot reach %q: the address to advertise is a host, or host:port", addr)
	}
	return host, p, nil
}

func hostAddress() (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	fallback := ""
	for _, a := range addrs {
		ipnet, ok := a.(*net.IPNet)
		if !ok || ipnet.IP.IsLoopback() || !ipnet.IP.IsGlobalUnicast() {
			continue
		}
		if ipnet.IP.IsPrivate() && ipnet.IP.To4() != nil {
			return ipnet.IP.String(), nil
		}
		if fallback == "" {
			fallback = ipnet.IP.String()
		}
	}
	if fallback == "" {
		return "", errors.New("cluster: no address to advertise: set one")
	}
	return fallback, nil
}
