package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

const (
	// soakClients work at the same time on each node.
	soakClients = 2
	// idleBeforeSample lets connections end and queues run dry.
	idleBeforeSample = 2 * time.Second
	// rowsKept is keptRoots of fsm.
	rowsKept = 1000
	// bulkSize is what one bulk request may hold.
	bulkSize = 100
)

// soakLoad is what applications do between faults: they read flags, evaluate
// stored identities, most of them unchanged, and an administrator toggles a flag.
// It makes no new identities, so that the state stays as large as it is.
type soakLoad struct {
	c          *Cluster
	identities int
	requests   atomic.Int64
}

func newSoakLoad(c *Cluster, identities int) *soakLoad {
	return &soakLoad{c: c, identities: identities}
}

func (l *soakLoad) identity(k int, score int) object {
	return object{"identifier": fmt.Sprintf("soak-%07d", k), "traits": []object{
		{"trait_key": "plan", "trait_value": "free"}, {"trait_key": "country", "trait_value": "CH"},
		{"trait_key": "age", "trait_value": k % 90}, {"trait_key": "email", "trait_value": fmt.Sprintf("soak-%07d@example.com", k)},
		{"trait_key": "score", "trait_value": score},
	}}
}

// fill stores the identities.
func (l *soakLoad) fill(ctx context.Context) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, 8)
	for w := range 8 {
		sdk := l.sdk(w % len(l.c.Nodes))
		wait.Go(func() {
			for {
				first := int(next.Add(bulkSize)) - bulkSize
				if first >= l.identities {
					return
				}
				var data []object
				for k := first; k < min(first+bulkSize, l.identities); k++ {
					data = append(data, l.identity(k, 0))
				}
				if err := l.store(ctx, sdk, data); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}

// store repeats a bulk request until it is taken.
func (l *soakLoad) store(ctx context.Context, sdk *nodes.Client, data []object) error {
	for {
		a, err := sdk.Do(ctx, "POST", "/api/v1/bulk-identities", object{"data": data})
		switch {
		case err != nil:
			return err
		case a.Status < 300:
			return nil
		case a.Status != 503 && a.Status != 429:
			return fmt.Errorf("bulk identities: %d %.200s", a.Status, a.Body)
		}
		sleep(ctx, 50*time.Millisecond)
	}
}

func (l *soakLoad) sdk(node int) *nodes.Client {
	return l.c.At(node, l.c.Nodes[node].Client().With("X-Environment-Key", l.c.Home.EnvironmentKey))
}

// run works for that long.
func (l *soakLoad) run(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var wait sync.WaitGroup
	for i := range l.c.Nodes {
		for range soakClients {
			wait.Go(func() { l.work(ctx, l.sdk(i)) })
		}
	}
	wait.Go(func() { l.administer(ctx) })
	wait.Wait()
}

func (l *soakLoad) work(ctx context.Context, sdk *nodes.Client) {
	for ctx.Err() == nil {
		var err error
		switch k := rand.IntN(10); {
		case k < 4:
			_, err = sdk.Do(ctx, "GET", "/api/v1/flags/", nil)
		case k < 9:
			_, err = sdk.Do(ctx, "POST", "/api/v1/identities/", l.identity(rand.IntN(l.identities), 0))
		default:
			_, err = sdk.Do(ctx, "POST", "/api/v1/identities/", l.identity(rand.IntN(l.identities), rand.IntN(100)))
		}
		if err == nil {
			l.requests.Add(1)
		}
		sleep(ctx, time.Millisecond)
	}
}

// settle works for a moment and then makes every node hold the same number of
// superseded rows: a node keeps the last 1,000 changes, for clients that read in
// pages, and one that was just started has fewer.
func (l *soakLoad) settle(ctx context.Context) {
	l.run(ctx, settleTime)
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for k := 0; k < rowsKept/4+50 && ctx.Err() == nil; {
				if l.change(ctx, w+k, fmt.Sprint("settled ", w, k)) {
					k++
				}
			}
		})
	}
	wait.Wait()
}

// change makes one change by a node and reports whether it was acknowledged.
func (l *soakLoad) change(ctx context.Context, node int, description string) bool {
	path := fmt.Sprintf("/api/v1/environments/%s/", l.c.Home.EnvironmentKey)
	a, err := l.c.At(node%len(l.c.Nodes), l.c.Home.Admin).Do(ctx, "PATCH", path, object{"description": description})
	return err == nil && a.Status == http.StatusOK
}

func (l *soakLoad) administer(ctx context.Context) {
	for k := 0; ctx.Err() == nil; k++ {
		l.change(ctx, k, fmt.Sprint(k)) // one more or less
		sleep(ctx, time.Second)
	}
}
