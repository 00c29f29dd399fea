package disk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// Load writes numbers that only grow, each to its own identity or feature, and
// remembers which was acknowledged: an identity whose number is 7 after 8 was
// acknowledged is a lost write. Every identity has one writer.
type Load struct {
	Cluster *nodes.Cluster
	Project *nodes.Project
	Rate    int // identity upserts a second

	acked, tried []atomic.Int64 // per identity; 0: none
	features     []register
	next         atomic.Int64 // number of the next write
	upserts      atomic.Int64 // acknowledged
	admin        atomic.Int64 // acknowledged admin writes
	refused      atomic.Int64 // not acknowledged: may or may not have happened
}

// register is a feature whose value in the environment is a number.
type register struct {
	state        int64 // id of the feature state
	acked, tried atomic.Int64
}

const (
	bulk         = 100 // identities in a request
	bulkWriters  = 8
	adminWriters = 4
	makeUp       = time.Second
)

// NewLoad makes the features and numbers from 1 for people identities.
func NewLoad(ctx context.Context, c *nodes.Cluster, rate, people int) (*Load, error) {
	p, err := c.Nodes[0].Client().NewProject(ctx, "Disks")
	if err != nil {
		return nil, err
	}
	l := &Load{Cluster: c, Project: p, Rate: rate,
		acked: make([]atomic.Int64, people), tried: make([]atomic.Int64, people), features: make([]register, adminWriters+1)} // one more for the tests' own writes
	for i := range l.features {
		a, err := p.Admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", p.ID), map[string]any{"name": fmt.Sprintf("register_%d", i)}, 201)
		if err != nil {
			return nil, err
		}
		a, err = p.Admin.Must(ctx, "GET", fmt.Sprintf("/api/v1/environments/%s/featurestates/?feature=%d", p.EnvironmentKey, a.ID("id")), nil, 200)
		if err != nil {
			return nil, err
		}
		var page struct{ Results []struct{ ID int64 } }
		if err := json.Unmarshal(a.Body, &page); err != nil || len(page.Results) != 1 {
			return nil, fmt.Errorf("feature states: %w: %s", err, a.Body)
		}
		l.features[i].state = page.Results[0].ID
	}
	return l, nil
}

// Run writes until ctx ends. Requests go to all nodes in turn.
func (l *Load) Run(ctx context.Context) {
	var wait sync.WaitGroup
	for w := range bulkWriters {
		wait.Go(func() { l.writeIdentities(ctx, w) })
	}
	for w := range adminWriters {
		wait.Go(func() { l.writeFeature(ctx, w) })
	}
	wait.Wait()
}

// writeIdentities goes round its part of the identities, a hundred at a time, at
// its part of the rate. It makes up for slow answers, and for at most makeUp of silence.
func (l *Load) writeIdentities(ctx context.Context, w int) {
	part := len(l.acked) / bulkWriters
	every := time.Second * bulk * bulkWriters / time.Duration(l.Rate)
	clients := l.clients("X-Environment-Key", l.Project.ServerKey)
	due := time.Now().Add(every * time.Duration(w) / bulkWriters)
	for i := 0; pause(ctx, time.Until(due)); i++ {
		due = due.Add(every)
		if late := time.Since(due); late > makeUp {
			due = due.Add(late - makeUp)
		}
		first := w*part + i*bulk%(part-part%bulk)
		l.bulk(ctx, clients[(w+i)%len(clients)], first)
	}
}

func (l *Load) bulk(ctx context.Context, c *nodes.Client, first int) {
	number := l.next.Add(1)
	data := make([]any, bulk)
	for i := range data {
		l.tried[first+i].Store(number)
		data[i] = map[string]any{"identifier": person(first + i), "traits": []any{map[string]any{"trait_key": "n", "trait_value": number}}}
	}
	a, err := c.Do(ctx, "POST", "/api/v1/bulk-identities", map[string]any{"data": data})
	if err != nil || a.Status != http.StatusOK {
		l.refused.Add(bulk)
		return
	}
	for i := range data {
		l.acked[first+i].Store(number)
	}
	l.upserts.Add(bulk)
}

func (l *Load) writeFeature(ctx context.Context, w int) {
	clients := l.clients("Authorization", "Api-Key "+l.Project.Master)
	f := &l.features[w]
	for i := 0; pause(ctx, 20*time.Millisecond); i++ {
		number := l.next.Add(1)
		f.tried.Store(number)
		a, err := clients[(w+i)%len(clients)].Do(ctx, "PATCH",
			l.featurePath(f), map[string]any{"feature_state_value": number})
		if err != nil || a.Status != http.StatusOK {
			l.refused.Add(1)
			continue
		}
		f.acked.Store(number)
		l.admin.Add(1)
	}
}

func (l *Load) featurePath(f *register) string {
	return fmt.Sprintf("/api/v1/environments/%s/featurestates/%d/", l.Project.EnvironmentKey, f.state)
}

// Lost reads everything back from a node and returns what is missing.
func (l *Load) Lost(ctx context.Context, n *nodes.Node) ([]string, error) {
	var mu sync.Mutex // lost and failed, from all readers
	var lost []string
	var failed error
	var wait sync.WaitGroup
	sdk := n.Client().With("X-Environment-Key", l.Project.ServerKey)
	for r := range bulkWriters {
		wait.Go(func() {
			for i := r; i < len(l.acked); i += bulkWriters {
				text, err := l.lostIdentity(ctx, sdk, i)
				if err == nil && text == "" {
					continue
				}
				mu.Lock()
				if text != "" {
					lost = append(lost, text)
				}
				failed = cmp.Or(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	if failed != nil {
		return lost, failed
	}
	more, err := l.lostFeatures(ctx, n)
	return append(lost, more...), err
}

func (l *Load) lostIdentity(ctx context.Context, sdk *nodes.Client, i int) (string, error) {
	acked := l.acked[i].Load()
	if acked == 0 {
		return "", nil
	}
	a, err := sdk.Must(ctx, "GET", "/api/v1/identities/?identifier="+person(i), nil, 200)
	if err != nil {
		return "", err
	}
	var got struct {
		Traits []struct {
			Value int64 `json:"trait_value"`
		}
	}
	if err := json.Unmarshal(a.Body, &got); err != nil {
		return "", err
	}
	if len(got.Traits) != 1 || got.Traits[0].Value < acked || got.Traits[0].Value > l.tried[i].Load() {
		return fmt.Sprintf("%s: acknowledged %d, stored %v, last tried %d", person(i), acked, got.Traits, l.tried[i].Load()), nil
	}
	return "", nil
}

func (l *Load) lostFeatures(ctx context.Context, n *nodes.Node) (lost []string, err error) {
	admin := n.Client().With("Authorization", "Api-Key "+l.Project.Master)
	for i := range l.features {
		f := &l.features[i]
		if f.acked.Load() == 0 {
			continue
		}
		a, err := admin.Must(ctx, "GET", l.featurePath(f), nil, 200)
		if err != nil {
			return lost, err
		}
		got, _ := strconv.ParseInt(fmt.Sprint(a.Get("feature_state_value")), 10, 64)
		if got < f.acked.Load() || got > f.tried.Load() {
			lost = append(lost, fmt.Sprintf("register %d: acknowledged %d, stored %d, last tried %d", i, f.acked.Load(), got, f.tried.Load()))
		}
	}
	return lost, nil
}

// Acknowledged counts identity upserts and admin writes since the start.
func (l *Load) Acknowledged() (identities, admin int64) { return l.upserts.Load(), l.admin.Load() }

func (l *Load) clients(name, value string) []*nodes.Client {
	var all []*nodes.Client
	for _, n := range l.Cluster.Nodes {
		c := n.Client().With(name, value)
		c.HTTP.Timeout = 5 * time.Second
		all = append(all, c)
	}
	return all
}

func person(i int) string { return fmt.Sprintf("person-%d", i) }

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
