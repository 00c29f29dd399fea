package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/probe"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/fsm"
)

// What is measured with many identities stored. The names with markHuge are only
// measured when they are asked for: they take ten times the memory and time.
const (
	nameMemory  = "memory"
	nameRestore = "restore"
	nameStartUp = "start-up"
	markHuge    = "10m"

	whatAtRest   = "memory at rest over the empty server, %s identities with 5 short traits"
	whatSnapshot = "memory over the empty server, peak in a snapshot under %s puts a second, %s identities"
	whatRestore  = "restore from a file with checksums and zstd, %s identities"
	whatStartUp  = "start-up until flags are served, %s identities"
)

// putsPerSecond are written while memory is measured in a snapshot.
const putsPerSecond = 20_000

// memory measures what identities take in a node of one, and how soon they are back.
func (b *bench) memory(ctx context.Context, dir string) error {
	for _, size := range []struct {
		suffix string
		n      int
		wanted func(name string) bool
	}{
		{"", b.Stored, func(name string) bool { return b.wants(name) }},
		{"-" + markHuge, b.Huge, func(name string) bool { return b.asked(name, markHuge) }},
	} {
		m := memory{bench: b, dir: filepath.Join(dir, "size"+size.suffix), suffix: size.suffix, n: size.n}
		m.rest, m.restored, m.started = size.wanted(nameMemory+size.suffix), size.wanted(nameRestore+size.suffix), size.wanted(nameStartUp+size.suffix)
		if !m.rest && !m.restored && !m.started {
			continue
		}
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("%s identities: %w", count(float64(size.n)), err)
		}
	}
	return nil
}

// memory is the measurement with one number of identities.
type memory struct {
	*bench
	dir, suffix             string
	n                       int
	rest, restored, started bool // what is wanted

	node     *nodes.Node
	side     side
	requests seed.Requests
	empty    int64 // bytes at rest before there are identities
	next     int   // the next identity
}

func (m *memory) run(ctx context.Context) error {
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := nodes.Start(ready, m.Binary, m.dir, 1, manyIdentities...)
	if err != nil {
		return err
	}
	defer c.Stop()
	project, err := c.Nodes[0].Client().NewProject(ctx, "bench")
	if err != nil {
		return err
	}
	m.node, m.side, m.requests = c.Nodes[0], sideOf(c), m.Profile.Requests(project.EnvironmentKey)
	if m.empty, _, err = m.atRest(ctx); err != nil {
		return err
	}
	if err := m.put(ctx, m.requests.ShortBulk(0), m.n); err != nil {
		return err
	}
	m.next = m.n
	if m.rest {
		if err := m.measure(ctx, project); err != nil {
			return err
		}
	}
	if m.restored {
		if err := m.restore(ctx, project); err != nil {
			return err
		}
	}
	if m.started {
		return m.startUp(ctx, project)
	}
	return nil
}

// put posts identities as fast as it goes.
func (m *memory) put(ctx context.Context, source load.Source, n int) error {
	g, err := load.Dial(16, m.node.API)
	if err != nil {
		return err
	}
	r, err := g.Run(ctx, load.Options{Source: source, Count: n / seed.BulkSize})
	if err == nil {
		err = r.Err()
	}
	if err = errors.Join(err, g.Close()); err != nil {
		return err
	}
	m.say("%s identities put in %s", count(float64(n)), r.Elapsed.Round(time.Millisecond))
	return nil
}

// atRest is the resident memory once nothing more is given back: a collection is asked
// for twice, which the runtime would do by itself within minutes, and then waited for.
func (m *memory) atRest(ctx context.Context) (total, file int64, err error) {
	const settled, longest = 5 * time.Second, 2 * time.Minute
	for range 2 {
		if err := probe.Get(ctx, "http://"+m.node.Management+"/debug/pprof/heap?gc=1", time.Minute, discard); err != nil {
			return 0, 0, err
		}
	}
	least, begin := int64(0), time.Now()
	for since := begin; time.Since(since) < settled && time.Since(begin) < longest; time.Sleep(100 * time.Millisecond) {
		if total, file, err = probe.RSS(m.node.PID()); err != nil {
			return 0, 0, err
		}
		if least == 0 || total < least-least/200 {
			least, since = total, time.Now()
		}
	}
	return total, file, ctx.Err()
}

// measure adds what the identities take at rest, and the peak while snapshots are written and puts go on.
func (m *memory) measure(ctx context.Context, p *nodes.Project) error {
	total, file, err := m.atRest(ctx)
	if err != nil {
		return err
	}
	rest := newFigure(nameMemory+m.suffix, "MB", whatAtRest, count(float64(m.n)))
	rest.Values, rest.Load = []float64{float64(total-m.empty) / 1e6}, m.load()
	rest.Note = fmt.Sprintf("the empty server takes %.0f MB; %.0f MB are pages of files", float64(m.empty)/1e6, float64(file)/1e6)
	m.figure(rest)

	g, err := load.Dial(16, m.node.API)
	if err != nil {
		return err
	}
	first, err := g.Run(ctx, load.Options{Source: m.requests.ShortPuts(m.next, 1), Duration: 100 * time.Millisecond})
	if err == nil { // a connection that said nothing yet would be closed before the end
		err = first.Err()
	}
	if err != nil {
		return errors.Join(err, g.Close())
	}
	m.next += first.Requests * seed.BulkSize / 2
	peak, stop := m.peak(ctx), snapshots(p, m.n).begin(ctx)
	conditions, err := m.side.during(ctx, func() error {
		r, err := g.Run(ctx, load.Options{Source: m.requests.ShortPuts(m.next, 1), Rate: putsPerSecond / seed.BulkSize, Duration: 3 * m.Duration})
		if err == nil {
			m.next += r.Requests * seed.BulkSize / 2
			err = r.Err()
		}
		return err
	})
	if err = errors.Join(err, stop(), g.Close()); err != nil {
		return err
	}
	bytes, err := peak()
	if err != nil {
		return err
	}
	f := newFigure(nameMemory+m.suffix, "MB", whatSnapshot, count(putsPerSecond), count(float64(m.n)))
	f.Values, f.Conditions = []float64{float64(bytes-m.empty) / 1e6}, conditions
	f.Note = fmt.Sprintf("%.0f s of one snapshot after the other", 3*m.Duration.Seconds())
	m.figure(f)
	return nil
}

// peak follows the resident memory until the returned function ends it and tells the most that was seen.
func (m *memory) peak(ctx context.Context) (end func() (int64, error)) {
	type result struct {
		most int64
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan result, 1)
	go func() {
		var r result
		for ; ctx.Err() == nil && r.err == nil; time.Sleep(5 * time.Millisecond) {
			var total int64
			total, _, r.err = probe.RSS(m.node.PID())
			r.most = max(r.most, total)
		}
		done <- r
	}()
	return func() (int64, error) {
		cancel()
		r := <-done
		return r.most, r.err
	}
}

// restore reads a backup of the node, in this process.
func (m *memory) restore(ctx context.Context, p *nodes.Project) error {
	path := filepath.Join(m.dir, "backup")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	size, err := backup(ctx, p.Admin, f, func() {})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	out := newFigure(nameRestore+m.suffix, "identities/s", whatRestore, count(float64(m.n)))
	out.Note = fmt.Sprintf("a file of %.1f MB", float64(size)/1e6)
	for range m.Runs {
		start := time.Now()
		header, err := restored(path)
		if err != nil {
			return err
		}
		out.Values = append(out.Values, float64(header.Identities)/time.Since(start).Seconds())
		debug.FreeOSMemory() // what was restored is not needed any more
	}
	out.Load = m.load()
	m.figure(out)
	return nil
}

// restored reads a backup into a state machine as a node that gets it as its snapshot does.
func restored(path string) (h fsm.BackupHeader, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	if h, err = fsm.ReadBackupHeader(f); err != nil {
		return h, errors.Join(err, f.Close())
	}
	log := slog.New(slog.DiscardHandler)
	views := fsm.NewViews(log)
	defer views.Stop()
	return h, fsm.New(log, views).Restore(f) // closes the file
}

// startUp kills the node, starts it again and waits until it serves flags, a few times.
func (m *memory) startUp(ctx context.Context, p *nodes.Project) error {
	log, err := m.growLog(ctx)
	if err != nil {
		return err
	}
	f := newFigure(nameStartUp+m.suffix, "s", whatStartUp, count(float64(m.n)))
	f.Note = fmt.Sprintf("single voter, killed, %.0f MB of log to replay", float64(log)/1e6)
	for range min(m.Runs, 3) {
		m.node.Kill()
		start := time.Now()
		if err := m.node.Start(); err != nil {
			return err
		}
		client := m.node.Client().With("X-Environment-Key", p.EnvironmentKey)
		for {
			if a, err := client.Do(ctx, "GET", "/api/v1/flags/", nil); err == nil && a.Status == 200 {
				break
			}
			if !m.node.Running() || time.Since(start) > 5*time.Minute {
				return errors.New("the node does not come back")
			}
			time.Sleep(2 * time.Millisecond)
		}
		f.Values = append(f.Values, time.Since(start).Seconds())
		if err := m.node.WaitReady(ctx); err != nil {
			return err
		}
	}
	f.Load = m.load()
	m.figure(f)
	return nil
}

// growLog puts identities until the log since the last snapshot has most of the bytes that goals allow to be replayed.
func (m *memory) growLog(ctx context.Context) (int64, error) {
	least, most := int64(48<<20), int64(64<<20)
	if m.Quick {
		least = 1 << 20
	}
	for range 1000 {
		status, err := m.node.Status(ctx)
		if err != nil {
			return 0, err
		}
		if n := status.Storage.LogBytes; n >= least && n <= most {
			return n, nil
		}
		if status.Storage.LogBytes > most {
			// A snapshot is due or under way: it is to be done before as much has come again.
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		const step = 20_000
		if err := m.put(ctx, m.requests.ShortPuts(m.next, uint64(m.next)), step); err != nil {
			return 0, err
		}
		m.next += step / 2
	}
	return 0, errors.New("the log does not come between the bounds")
}
