package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/server"
)

// watch looks at nodes in this process again and again: what the first, the leader, knows to be
// committed, and what each node's View of an environment shows.
type watch struct {
	nodes       []*server.Node
	environment uint64
	looked      time.Time // when the last look at the commit index began
	committed   trail
	shown       []trail
	stop        chan struct{}
	done        sync.WaitGroup
}

// trail is how an index grew.
type trail struct {
	index []uint64
	at    []time.Time
}

func (t *trail) see(index uint64, at time.Time) {
	if n := len(t.index); n == 0 || t.index[n-1] < index {
		t.index, t.at = append(t.index, index), append(t.at, at)
	}
}

// reached is when an index was first seen.
func (t *trail) reached(index uint64) (at time.Time, ok bool) {
	i, _ := slices.BinarySearch(t.index, index)
	if i == len(t.index) {
		return at, false
	}
	return t.at[i], true
}

// glance is the time between two looks.
const glance = 200 * time.Microsecond

func (w *watch) begin() {
	w.shown, w.stop = make([]trail, len(w.nodes)), make(chan struct{})
	w.done.Go(func() {
		for {
			w.look()
			select {
			case <-w.stop:
				w.look()
				return
			case <-time.After(glance):
			}
		}
	})
}

func (w *watch) look() {
	now := time.Now()
	w.commits(w.nodes[0].CommitIndex(), now)
	for i, n := range w.nodes {
		if live, ok := n.Views().ByID(w.environment); ok && live.View() != nil {
			w.shown[i].see(live.View().Index, time.Now())
		}
	}
}

// commits tells what was committed at a look. What was not at the one before may have been right
// after it, so the way to a View counts from there: looks that come late, as they do on a machine
// without a core to spare, make it longer and never hide it.
func (w *watch) commits(index uint64, now time.Time) {
	if w.looked.IsZero() {
		w.looked = now
	}
	w.committed.see(index, w.looked)
	w.looked = now
}

// end stops looking, after every View had the time to show what was committed.
func (w *watch) end() {
	time.Sleep(time.Second)
	close(w.stop)
	w.done.Wait()
}

// lags are the milliseconds from each commit to the last View that shows it, at most.
func (w *watch) lags(indexes []uint64) (millis []float64) {
	for _, index := range indexes {
		from, ok := w.committed.reached(index)
		last := from
		for i := range w.shown {
			at, seen := w.shown[i].reached(index)
			if ok = ok && seen; at.After(last) {
				last = at
			}
		}
		if ok {
			millis = append(millis, last.Sub(from).Seconds()*1000)
		}
	}
	return millis
}

// toggled switches a flag at a fixed rate for a while, and returns the index of every switch.
func toggled(ctx context.Context, admin *nodes.Client, path string, on *bool, d time.Duration) (indexes []uint64, err error) {
	var mu sync.Mutex // guards indexes and err
	var wg sync.WaitGroup
	defer wg.Wait()
	start := time.Now()
	for n := range int(d.Seconds() * viewWrites) {
		time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / viewWrites)))
		*on = !*on
		body := map[string]any{"enabled": *on}
		wg.Go(func() {
			a, failed := admin.Must(ctx, http.MethodPatch, path, body, 200)
			var index uint64
			if failed == nil {
				_, digits, _ := strings.Cut(a.Header.Get("Flagraft-Index"), "-")
				if index, failed = strconv.ParseUint(digits, 10, 64); failed != nil {
					failed = fmt.Errorf("no index of a write: %w", failed)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			indexes = append(indexes, index)
		})
	}
	wg.Wait()
	return indexes, err
}
