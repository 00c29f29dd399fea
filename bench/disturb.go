package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// disturbance is something else that a node does while it is measured.
type disturbance struct {
	suffix string // of scenarios
	title  string
	every  time.Duration // from the begin of one step to that of the next; 0: without a pause
	wait   time.Duration // for the node to begin with the first step, before the run; on a slow machine it may not come to one in it
	// step is told to say when the node has begun with it: until then nothing disturbs anybody. A long one may take all of the run.
	step func(ctx context.Context, begun func()) error
}

// errIdle says that a run was not disturbed at all.
var errIdle = errors.New("not a single step was begun in the run")

// begin goes on with the steps until the returned function ends them.
func (d *disturbance) begin(ctx context.Context) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done, first := make(chan error, 1), make(chan struct{})
	var steps atomic.Int64
	ready := sync.OnceFunc(func() { close(first) })
	begun := func() {
		steps.Add(1)
		ready()
	}
	go func() {
		defer ready() // it may have failed
		for next := time.Now(); ; {
			err := d.step(ctx, begun)
			if ctx.Err() != nil {
				done <- nil
				return
			}
			if err != nil {
				done <- err
				return
			}
			next = next.Add(d.every)
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(next)):
			}
		}
	}()
	select {
	case <-first:
	case <-time.After(d.wait):
	}
	return func() error {
		cancel()
		err := <-done
		if err == nil && steps.Load() == 0 {
			err = errIdle
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.title, err)
		}
		return nil
	}
}

// changes has an admin switch a flag each 100 ms.
func changes(ctx context.Context, p *nodes.Project) (*disturbance, error) {
	path, enabled, err := firstState(ctx, p)
	if err != nil {
		return nil, err
	}
	return &disturbance{suffix: "-changes", title: "while an admin changes a flag each 100 ms", every: 100 * time.Millisecond, step: func(ctx context.Context, begun func()) error {
		enabled = !enabled
		_, err := p.Admin.Must(ctx, http.MethodPatch, path, map[string]any{"enabled": enabled}, 200)
		if err == nil {
			begun()
		}
		return err
	}}, nil
}

// firstState is the path of a feature state of the environment, and whether it is on.
func firstState(ctx context.Context, p *nodes.Project) (path string, enabled bool, err error) {
	list := "/api/v1/environments/" + p.EnvironmentKey + "/featurestates/"
	state, err := first(ctx, p.Admin, list)
	if err != nil {
		return "", false, err
	}
	enabled, _ = state["enabled"].(bool)
	return fmt.Sprintf("%s%v/", list, state["id"]), enabled, nil
}

// snapshots has the node write one snapshot after the other: backups, which are made as those of the log are.
func snapshots(p *nodes.Project, identities int) *disturbance {
	return &disturbance{suffix: "-snapshots", title: "while a snapshot of " + count(float64(identities)) + " identities is taken", wait: time.Minute, step: func(ctx context.Context, begun func()) error {
		for {
			// A backup that the run before broke off goes on until its next piece, and may have the last place.
			if _, err := backup(ctx, p.Admin, io.Discard, begun); !errors.Is(err, errNoPlace) {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}}
}

// errNoPlace says that the node takes as many backups as it may already.
var errNoPlace = errors.New("backup: 503 Service Unavailable")

// backup writes a backup of the node to w. It calls begun when the node has begun with it.
func backup(ctx context.Context, c *nodes.Client, w io.Writer, begun func()) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/api/flagraft/v1/backup/", nil)
	if err != nil {
		return 0, err
	}
	req.Header = c.Header.Clone()
	resp, err := (&http.Client{Transport: c.HTTP.Transport}).Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode == http.StatusServiceUnavailable {
		return 0, errNoPlace
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("backup: %s", resp.Status)
	}
	begun()
	return io.Copy(w, resp.Body)
}
