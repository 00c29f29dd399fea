package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
	"github.com/flagraft/flagraft/e2e/nodes"
)

type bench struct {
	Config
	report          *Report
	stored, unknown int64 // items that are stored for certain, or perhaps
	fresh           int   // makes prefixes of new identities
}

// Run measures everything and returns the report. An answer that is not 2xx ends it
// with an error; the report then has what was measured before.
func Run(ctx context.Context, c Config) (*Report, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(c.Binary); err != nil {
		return nil, err
	}
	b := &bench{Config: c, report: newReport(c)}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	if c.Profiles != "" {
		if err := os.MkdirAll(c.Profiles, 0o755); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(c.Dir, "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is temporary
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	type part struct {
		name string
		run  func(context.Context, string) error
	}
	parts := []part{
		{"request", b.request}, {"store", b.store}, {"one", b.oneNode}, {"three", b.threeNodes}, {"commit", b.commit}, {"admin", b.adminWrites},
		{"import", b.imports}, {"memory", b.memory}, {"large", b.large},
	}
	switch {
	case c.Peers != "":
		parts = []part{{"peers", b.peers}}
	case c.Scale:
		parts = []part{{"scale", b.scale}}
	}
	for _, part := range parts {
		sub := filepath.Join(dir, part.name)
		if err := os.Mkdir(sub, 0o755); err != nil {
			return nil, err
		}
		if err := part.run(ctx, sub); err != nil {
			return b.report, withLogs(err, sub)
		}
	}
	b.report.finish()
	return b.report, nil
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Progress, format+"\n", args...) // progress that nobody reads stops nothing
}

// wants reports whether a scenario was asked for.
func (b *bench) wants(names ...string) bool {
	for _, name := range names {
		if strings.Contains(name, b.Only) {
			return true
		}
	}
	return false
}

// asked reports whether a scenario was asked for by name: it is not in the whole.
func (b *bench) asked(name, mark string) bool { return strings.Contains(b.Only, mark) && b.wants(name) }

// withLogs adds the end of what the nodes printed.
func withLogs(err error, dir string) error {
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, f := range files {
		if text, readErr := os.ReadFile(f); readErr == nil && !errors.Is(err, context.Canceled) {
			err = fmt.Errorf("%w\n%s: %s", err, filepath.Base(f), text[max(0, len(text)-1000):])
		}
	}
	return err
}

// start starts a cluster and fills it.
func (b *bench) start(ctx context.Context, dir string, n int, extra ...string) (*nodes.Cluster, *nodes.Project, error) {
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := nodes.Start(ready, b.Binary, dir, n, extra...)
	if err != nil {
		return nil, nil, err
	}
	begin := time.Now()
	p, err := b.Profile.Project(ctx, c.Nodes[0].Client(), "bench")
	if err != nil {
		c.Stop()
		return nil, nil, err
	}
	b.say("%d node(s) filled with the project in %s", n, time.Since(begin).Round(time.Millisecond))
	return c, p, nil
}

// fill loads the profile's identities.
func (b *bench) fill(ctx context.Context, s side, r seed.Requests) error {
	g, err := load.Dial(16, s.addrs...)
	if err != nil {
		return err
	}
	result, err := g.Run(ctx, load.Options{Source: r.Load(), Count: r.Loads()})
	if err == nil {
		err = result.Err()
	}
	if err = errors.Join(err, g.Close()); err != nil {
		return fmt.Errorf("load identities: %w", err)
	}
	b.say("%d identities loaded in %s", b.Profile.Identities, result.Elapsed.Round(time.Millisecond))
	return b.quiet(ctx, s)
}

// Servers are quiet when each takes less than a twentieth of a core for quietFor.
const (
	quietFor    = time.Second
	quietAtMost = time.Minute
)

// quiet waits until the servers have done what a load leaves behind, as the snapshot of the
// log that it has filled: it would be counted to the requests that are measured next.
func (b *bench) quiet(ctx context.Context, s side) error {
	most := quietFor / 20 * time.Duration(len(s.addrs))
	before, _, _, err := s.busy()
	for begin := time.Now(); err == nil; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quietFor):
		}
		var now time.Duration
		if now, _, _, err = s.busy(); err == nil && now-before < most {
			return nil
		}
		if time.Since(begin) > quietAtMost {
			b.say("after %s the servers still take %.2f cores", quietAtMost, (now-before).Seconds()/quietFor.Seconds())
			return err
		}
		before = now
	}
	return err
}

// prefix is that of identities nobody has made yet.
func (b *bench) prefix() string {
	b.fresh++
	return fmt.Sprintf("new-%03d-", b.fresh)
}
