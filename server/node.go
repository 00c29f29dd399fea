package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/cluster/actor"
	files "github.com/flagraft/flagraft/console"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/console"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/mail"
	"github.com/flagraft/flagraft/server/ofrep"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/sdk"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/tracing"
)

// freshness is how lately a node must have heard from the leader to answer an unchanged identity by itself.
const freshness = 500 * time.Millisecond

// Build says which binary this is.
type Build struct {
	Version, Commit string
}

// Node is one flagraft node: the composition root. New makes it, Start brings it up, Stop takes it down in order.
type Node struct {
	settings *settings.Settings
	log      *slog.Logger
	build    Build
	// Timing overrides the cluster's timers; tests use shorter ones.
	Timing cluster.Timing
	// HashChecks overrides how often state hashes are compared; tests do it more often.
	HashChecks fsm.HashCheckPolicy
	// OnFatal, if set, is called instead of ending the process when this node must not go on: a damaged or hung disk, an entry that cannot be applied, or a state that is not
	// the majority's. Whoever sets it stops the node.
	OnFatal func(error)
	// Webhooks are the times of delivering; tests use shorter ones.
	Webhooks WebhookTiming
	// LogLevel, if set, is the level of the log that New was given; the management port changes it.
	LogLevel *slog.LevelVar
	// Clock is the wall clock; fault tests step it.
	Clock func() time.Time

	fsm         *fsm.FSM
	views       *fsm.Views
	progress    *fsm.Progress // how far the Views of all nodes are
	cluster     *cluster.Node
	writer      *fsm.Writer
	batcher     *fsm.IdentityBatcher
	identities  *fsm.IdentityWriter
	stored      sdk.IdentityWriter // identities, traced if traces are on
	usage       *fsm.UsageCounter
	streams     *sdk.Streams
	mailer      *mail.Mailer
	scheduler   *fsm.Scheduler
	checker     *fsm.HashChecker
	deliverer   *deliverer
	api         *admin.API
	sdk         *sdk.SDK
	server      *Server
	openFeature *ofrep.API
	management  *management
	tracing     *tracing.Tracer
	registry    *prometheus.Registry // what /metrics shows
	flags       *flagMetrics

	events   eventPlaces   // streams of changes
	backups  chan struct{} // a place for each backup that is streamed
	founding actor.Signal  // this node leads: see founding.go
	founder  *actor.Loop
	levels   *actor.Loop // raises the format level
	archives *actor.Loop // takes scheduled backups
	webhooks *actor.Loop // delivers events
	started  time.Time
	running  atomic.Bool // everything is up
	stopping atomic.Bool
	stopOnce sync.Once
	stopErr  error
}

// New makes a node that is not running yet.
func New(st *settings.Settings, build Build, log *slog.Logger) *Node {
	log = requestid.Logger(log)
	views := fsm.NewViews(log)
	n := &Node{Clock: time.Now, HashChecks: fsm.DefaultHashCheckPolicy(), Webhooks: defaultWebhookTiming(), settings: st, log: log, build: build, views: views, fsm: fsm.New(log, views), progress: fsm.NewProgress(views),
		founding: actor.NewSignal(), backups: make(chan struct{}, backupsAtOnce)}
	n.fsm.OnStop(n.fatal)
	n.registry, n.flags = newRegistry(), &flagMetrics{node: n, on: st.MetricsPerFlag}
	return n
}

// Start brings the node up: management first, so that a long replay can be watched, then the cluster, then the API. ctx bounds the start.
// After an error the node has been stopped again, in order; the error is ctx's when that ended first.
func (n *Node) Start(ctx context.Context) (err error) {
	n.started = time.Now()
	n.log.Info("starting", n.settings.Attributes()...)
	defer func() {
		if err != nil {
			bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.settings.StopTimeout)
			defer cancel()
			err = errors.Join(err, n.Stop(bound))
		}
	}()
	if err := CheckSettings(n.settings); err != nil {
		return err
	}
	if err := checkPlace(n.settings); err != nil {
		return err
	}
	if n.management, err = n.startManagement(); err != nil {
		return err
	}
	if n.cluster, err = cluster.Start(ctx, n.clusterConfig()); err != nil {
		return err
	}
	n.fsm.Arrears(n.cluster.Arrears)
	if n.tracing, err = tracing.Start(ctx, n.cluster.ID(), n.build.Version, n.log); err != nil {
		return err
	}
	if err := n.startMailer(); err != nil {
		return err
	}
	n.startActors()
	if err := n.assemble(); err != nil {
		return err
	}
	n.handleCalls()
	n.cluster.OnLeadership(n.led)
	n.views.OnView(func(*fsm.View) { n.streams.Wake(); n.cluster.Nudge() })
	n.views.OnGone(func(uint64) { n.streams.Wake() })
	n.progress.OnTold(n.streams.Wake)
	n.founder = actor.Go(n.found)
	n.levels = actor.Go(n.raiseLevels)
	n.archives = actor.Go(n.archive)
	n.webhooks = actor.Go(n.deliverer.run)
	n.cluster.OnRemoved(n.retire)
	if err := n.server.listen(); err != nil {
		return err
	}
	n.running.Store(true)
	n.log.Info("serving", "api", n.server.Addr(), "cluster", n.cluster.Addr(), "node", n.cluster.ID())
	return nil
}

func (n *Node) clusterConfig() cluster.Config {
	st := n.settings
	return cluster.Config{
		DataDir: st.DataDir, ClusterAddr: st.ClusterAddr, GossipAddr: st.GossipAddr,
		AdvertiseCluster: st.AdvertiseCluster, AdvertiseGossip: st.AdvertiseGossip, AdvertiseAPI: cmp.Or(st.AdvertiseAPI, st.APIAddr),
		Version: n.build.Version, Level: fsm.FormatLevel, RequiredLevel: n.requiredLevel, BootstrapExpect: cmp.Or(st.BootstrapExpect, -1), Join: st.Join, NonVoter: st.NonVoter, Secret: st.ClusterSecret,
		ClusterName: st.ClusterName, TLS: ClusterTLS(st),
		SnapshotThresholdBytes: int64(st.SnapshotLogBytes), TrailingBytes: int64(st.TrailingLogBytes),
		FSM: n.fsm, FSMIndex: func() uint64 { return n.fsm.State().Index }, OnRecovered: n.checkRestoreFile,
		Heartbeat: cluster.Heartbeat{Collect: n.progress.Collect, Merge: n.progress.Merge, Deliver: n.progress.Deliver},
		Logger:    n.log, Timing: n.Timing, MinFreeBytes: uint64(max(st.MinFreeDiskMB, 0)) << 20, OnFatal: n.fatal,
	}
}

// startActors starts what writes: all of them idle until there is a leader.
func (n *Node) startActors() {
	p := proposer{n.cluster}
	n.writer = fsm.NewWriter(n.fsm, p, n.Clock, n.log)
	if !n.settings.DisableWebhooks {
		n.writer.Derive(admin.Announce)
	}
	n.batcher = fsm.NewIdentityBatcher(p, n.Clock)
	n.writer.RefuseWhen(n.cluster.ReadOnly)
	n.writer.SetCaps(n.settings.IdentityCaps())
	n.batcher.SetCaps(n.fsm, n.settings.IdentityCaps())
	n.scheduler = fsm.NewScheduler(n.fsm, n.writer, n.Clock, n.settings.Retention(), n.log)
	n.checker = fsm.NewHashChecker(n.fsm, p, n.askHashes, n.HashChecks, n.log)
	n.identities = fsm.NewIdentityWriter(n.fsm, n.cluster.ID(), n.sendIdentities, n.newIdentities, n.log)
	n.stored = n.identities
	if n.tracing != nil {
		n.identities.Follow(n.followBatch)
		n.stored = tracedIdentities{n.identities, n.tracing}
	}
	n.usage = fsm.NewUsageCounter(n.fsm, n.cluster.ID(), n.Clock, n.sendUsage, n.log)
	n.streams = sdk.NewStreams(sdk.StreamsConfig{Views: n.views, Everywhere: n.progress.Everywhere, Alone: n.progress.Alone, Max: n.settings.MaxStreams})
}

// assemble makes the route table and the server of it.
func (n *Node) assemble() error {
	docs := newAPIDocs()
	n.sdk, n.openFeature = n.newSDK(), n.ofrep()
	table, err := route.NewTable(slices.Concat(admin.Rows(), n.sdk.Rows(), n.openFeature.Rows(), n.clusterRows(), n.loadRows(), n.nodeRows(), n.installationRows(), n.viewRows(), n.eventRows(), n.gossipKeyRows(), n.localRows(), n.backupRows(), docs.rows()))
	if err != nil {
		return fmt.Errorf("route table: %w", err)
	}
	docs.describe(table, n.build.Version)
	trusted, err := parseProxies(n.settings.TrustedProxies)
	if err != nil {
		return err
	}
	n.server = newServer(n.settings, n.log, table, n.cluster.ID())
	n.server.proxies, n.server.tracing = trusted, n.tracing
	if n.server.console, err = n.newConsole(table); err != nil {
		return err
	}
	n.server.fsm, n.server.views, n.server.leader = n.fsm, n.views, n.cluster
	n.server.openStreams = n.streams.Open
	n.identities.Bound(n.server.budget.identities)
	n.server.reader.fsm, n.server.reader.reads = n.fsm, n.reads()
	n.deliverer = newDeliverer(n)
	n.api = &admin.API{Env: n.adminEnv(), FSM: n.fsm, Writer: n.writer, CatchUp: n.server.reader.catchUp}
	n.server.api, n.server.atLevel = n.api, n.atLevel
	n.observe()
	return nil
}

// newConsole makes the console, or nil when the settings want none.
func (n *Node) newConsole(t *route.Table) (*console.Console, error) {
	if !n.settings.Console {
		return nil, nil
	}
	var paths []string
	for _, r := range t.Rows() {
		paths = append(paths, r.Path)
	}
	return console.New(files.Files(), paths, n.peerOrigins)
}

func (n *Node) adminEnv() *admin.Env {
	return &admin.Env{
		Log: n.log, Clock: n.Clock, Options: n.settings.Options(), Version: n.build.Version,
		Passwords: credential.NewPasswords(n.settings.HashConcurrency), Throttle: admin.NewThrottle(n.Clock), Lockout: admin.NewLockout(n.Clock),
		ReadyNodes: n.readyNodes,
		Views:      n.views, Identities: n.stored, Document: n.document, Mailer: n.mailer, SiteURL: n.siteURL(), Webhooks: n.deliverer.sender,
	}
}

// document is the environment document as of now: of a View that shows everything this node has applied.
func (n *Node) document(environment uint64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(n.server.ctx, readTimeout)
	defer cancel()
	if n.views.Wait(ctx, n.fsm.State().Index, environment) != nil {
		return nil, route.Unavailable("The environment is still being compiled.", 1)
	}
	live, ok := n.views.ByID(environment)
	if !ok || live.View() == nil {
		return nil, route.NotFound(fsm.Environments.Name())
	}
	return live.View().DocumentBody().Plain, nil
}

func (n *Node) newSDK() *sdk.SDK {
	format := fsm.FormatCore
	if n.settings.SDKFormat == "edge" {
		format = fsm.FormatEdge
	}
	return sdk.New(sdk.Config{
		Clock: n.Clock, FSM: n.fsm, Views: n.views, Identities: n.stored, Usage: countedUsage{n.usage, n.flags}, Streams: n.streams, Log: n.log,
		Caps:      n.settings.IdentityCaps(),
		Short:     func() bool { return n.server.memory.tight() },
		Fresh:     func() bool { return n.cluster.Fresh(freshness) },
		Applied:   func() bool { return n.cluster.IsLeader() || n.fsm.State().Index >= n.cluster.CommitIndex() },
		CatchUp:   n.catchUp,
		Ready:     n.caughtUp,
		ReadIndex: n.cluster.ReadIndex,
		Age:       n.reads().Age,
		Node:      n.cluster.ID(),
		Within:    requestid.Within,
		Begin:     newCommonHeaders(n.cluster.ID()).begin,
		Format:    format,

		DocumentPages: map[string]sdk.Pages{"always": sdk.PagesAlways, "never": sdk.PagesNever}[n.settings.DocumentPages],
	})
}

// catchUp makes the state reflect every acknowledged write. A leader that a quorum
// reports to has applied them all: those of its term it acknowledges by what applying
// them gave. Followers share one question to it.
func (n *Node) catchUp(budget time.Duration) error {
	if n.cluster.IsLeader() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	index, err := n.cluster.ReadIndex(ctx)
	if err != nil {
		return err
	}
	return n.fsm.Applied().Wait(ctx, index)
}

func (n *Node) ofrep() *ofrep.API {
	return ofrep.New(ofrep.Config{
		Clock: n.Clock, FSM: n.fsm, Views: n.views, Usage: n.usage, Ready: n.caughtUp, ReadIndex: n.cluster.ReadIndex, Age: n.reads().Age, Node: n.cluster.ID(),
		Evaluated:   func(environment, feature uint64) { n.flags.add(environment, feature, 1) },
		EventStream: func(key string) string { return "/sse/environments/" + key + "/ofrep" },
	})
}

// Reload reads the files of certificates again; changed ones are noticed without it, too.
func (n *Node) Reload() {
	n.cluster.ReloadTLS()
	if t := n.server.tls; t != nil {
		t.reload.Raise()
	}
}

// caughtUp reports whether the node knows all there is, as far as it can tell: before, an unknown key may be a good one.
func (n *Node) caughtUp() bool { return n.cluster.Ready() && !n.awaitsRestore() }

// Ready reports whether the node may be sent traffic.
func (n *Node) Ready() bool {
	return n.running.Load() && !n.stopping.Load() && n.caughtUp() && n.fsm.State().Born() && !n.awaitsFounding()
}

// Update runs a transaction as the system itself, on this node if it leads, and returns when this node's Views show it: for commands and tests
// in this process.
func (n *Node) Update(ctx context.Context, run func(*fsm.Tx) error) error {
	w, err := n.writer.Write(ctx, fsm.Author{}, run)
	if err != nil {
		return err
	}
	return n.views.Wait(ctx, w.Index, w.Environments...)
}

// IsLeader reports whether this node leads.
func (n *Node) IsLeader() bool { return n.cluster.IsLeader() }

// Machine is the state machine itself, for tests.
func (n *Node) Machine() *fsm.FSM { return n.fsm }

// State is the newest applied state.
func (n *Node) State() *fsm.State { return n.fsm.State() }

// Rows lists the endpoints of the node.
func (n *Node) Rows() []*route.Row { return n.server.table.Rows() }

// APIAddr is the address the API listens on.
func (n *Node) APIAddr() string { return n.server.Addr() }

// ClusterAddr is the address other nodes reach this one at.
func (n *Node) ClusterAddr() string { return n.cluster.Addr() }

// ManagementAddr is the address of health and metrics, or "".
func (n *Node) ManagementAddr() string { return n.management.addr() }

// Stop takes the node down: leadership is handed over, running requests end, what waits to be written is written. Later calls do nothing but
// wait for the first.
func (n *Node) Stop(ctx context.Context) error {
	n.stopOnce.Do(func() { n.stopErr = n.stop(ctx) })
	return n.stopErr
}

func (n *Node) stop(ctx context.Context) error {
	n.stopping.Store(true)
	var errs []error
	if n.cluster != nil {
		n.fsm.Hurry() // a snapshot or a backup under way
		n.cluster.Drain()
	}
	n.leaveBalancers(ctx)
	n.giveAwayLeadership(ctx)
	if n.founder != nil {
		n.founder.Stop()
		n.levels.Stop()
		n.archives.Stop()
		n.webhooks.Stop()
	}
	if n.streams != nil {
		n.streams.Stop() // clients connect to another node
	}
	if n.server != nil {
		errs = append(errs, n.server.stop(ctx))
	}
	if err := n.tracing.Stop(ctx); err != nil {
		n.log.Warn("the last traces are lost", "error", err)
	}
	n.stopActors()
	if n.cluster != nil {
		errs = append(errs, n.cluster.Stop(ctx))
	}
	n.views.Stop()
	errs = append(errs, n.management.stop(ctx))
	n.log.Info("stopped")
	return errors.Join(errs...)
}

func (n *Node) stopActors() {
	if n.usage != nil {
		n.usage.Stop()
		n.identities.Stop()
		n.checker.Stop()
		n.scheduler.Stop()
		n.writer.Stop()
		n.batcher.Stop()
	}
	if n.mailer != nil {
		n.mailer.Stop() // after the last write
	}
}

// Frozen counts the snapshots and backups under way, for [PaceCollector].
func (n *Node) Frozen() int { return n.fsm.Frozen() }
