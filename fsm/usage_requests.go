package fsm

import (
	"maps"
	"sync"
	"sync/atomic"
)

// usageClients bounds the different clients of an environment whose requests a
// node tells apart between two flushes.
const usageClients = 100

// requestCounts are the requests of one environment since the last flush. Requests
// count without a lock; clients are added to a copy of the map.
//
// Full-policy: a client past the bound counts as one that says nothing.
type requestCounts struct {
	clients atomic.Pointer[map[string]*clientCounts] // by clientKey
	silent  clientCounts

	mu      sync.Mutex               // for who adds a client or takes all counts; counting does not come here
	retired map[string]*clientCounts // a full map, whose last counts may still come
}

// clientCounts are the requests of one client, by UsageKind.
type clientCounts struct {
	labels string
	kinds  [UsageEvaluation]atomic.Int64
}

// clientKey is room for a client as a map's key.
type clientKey [3*maxLabel + 2]byte

// of is empty for a client that says nothing worth a label.
func (k *clientKey) of(c RequestClient) []byte {
	if c = c.counted(); len(c.Application) == 0 && len(c.Version) == 0 && len(c.Agent) == 0 {
		return nil
	}
	b := append(k[:0], c.Application...)
	b = append(append(b, 0), c.Version...)
	return append(append(b, 0), c.Agent...)
}

// of returns the counters of a client.
func (r *requestCounts) of(c RequestClient) *clientCounts {
	var buf clientKey
	key := buf.of(c)
	if len(key) == 0 {
		return &r.silent
	}
	if known := r.clients.Load(); known != nil {
		if counts, ok := (*known)[string(key)]; ok {
			return counts
		}
	}
	return r.add(string(key), c)
}

func (r *requestCounts) add(key string, c RequestClient) *clientCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*clientCounts{}
	if known := r.clients.Load(); known != nil {
		if counts, ok := (*known)[key]; ok {
			return counts
		}
		all = maps.Clone(*known)
	}
	if len(all) >= usageClients {
		return &r.silent
	}
	counts := &clientCounts{labels: UsageLabels(c)}
	all[key] = counts
	r.clients.Store(&all)
	return counts
}

// take visits every count and sets it to nothing. A full map makes room for a new one.
func (r *requestCounts) take(visit func(labels string, kind UsageKind, n int64)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent.take(visit)
	for _, c := range r.retired {
		c.take(visit)
	}
	r.retired = nil
	known := r.clients.Load()
	if known == nil {
		return
	}
	for _, c := range *known {
		c.take(visit)
	}
	if len(*known) >= usageClients {
		r.retired = *known
		r.clients.Store(nil)
	}
}

func (c *clientCounts) take(visit func(labels string, kind UsageKind, n int64)) {
	for kind := range c.kinds {
		if n := c.kinds[kind].Swap(0); n > 0 {
			visit(c.labels, UsageKind(kind), n)
		}
	}
}
