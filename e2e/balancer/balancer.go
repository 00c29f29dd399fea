// Package balancer is the small load balancer of the end-to-end tests. It does what an ordinary one does and no more: it probes /readyz of
// each node, sends requests in turn to those that were ready at their last probe, over connections it keeps, and hands a request on to the
// next node only when none of it was sent (the connection was refused), or when the HTTP client of the standard library does so by itself:
// a kept connection that was closed before any byte of the answer, for requests that may be repeated.
package balancer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Backend is a node: Addr is the host:port of its API, Ready the URL to probe.
type Backend struct {
	Addr, Ready string
	up          atomic.Bool
	ups, downs  atomic.Int64
}

// Changes is how often the backend was taken in and left out.
func (b *Backend) Changes() (ups, downs int64) { return b.ups.Load(), b.downs.Load() }

// Balancer is a running balancer.
type Balancer struct {
	// URL is its address.
	URL string

	backends []*Backend
	turn     atomic.Uint64
	server   *http.Server
	listener net.Listener
	cancel   context.CancelFunc
	work     sync.WaitGroup
	none     atomic.Int64
}

// Start probes every interval and serves on a free port of loopback.
func Start(interval time.Duration, backends ...*Backend) (*Balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Balancer{URL: "http://" + l.Addr().String(), backends: backends, listener: l}
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	for _, one := range backends {
		b.probe(ctx, one, interval)
		b.work.Go(func() { b.watch(ctx, one, interval) })
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: &transport{b, &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute}},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "balancer: "+err.Error(), http.StatusBadGateway)
		},
	}
	b.server = &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	b.work.Go(func() { _ = b.server.Serve(l) }) // ends with Stop
	return b, nil
}

// Stop ends the balancer and its connections.
func (b *Balancer) Stop() {
	b.cancel()
	_ = b.server.Close() // nothing is left to do about it
	b.work.Wait()
}

// NoBackend is how many requests found no node that was ready.
func (b *Balancer) NoBackend() int64 { return b.none.Load() }

func (b *Balancer) watch(ctx context.Context, one *Backend, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.probe(ctx, one, interval)
		}
	}
}

func (b *Balancer) probe(ctx context.Context, one *Backend, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	up := false
	if req, err := http.NewRequestWithContext(ctx, http.MethodGet, one.Ready, nil); err == nil {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close() // only the status counts
			up = resp.StatusCode == http.StatusOK
		}
	}
	switch was := one.up.Swap(up); {
	case up && !was:
		one.ups.Add(1)
	case was && !up:
		one.downs.Add(1)
	}
}

// next is a node that is ready, in turn.
func (b *Balancer) next() *Backend {
	start := b.turn.Add(1)
	for i := range uint64(len(b.backends)) {
		if one := b.backends[(start+i)%uint64(len(b.backends))]; one.up.Load() {
			return one
		}
	}
	return nil
}

// transport sends a request to a node that is ready.
type transport struct {
	balancer *Balancer
	pool     *http.Transport
}

var errNone = errors.New("no node is ready")

// RoundTrip tries each node once at most, the next one only after a refused connection. A body is read before anything is sent, as
// balancers do: net/http closes it as soon as the answer is passed on, and the transport cuts a connection whose body, all of it sent, ends
// that way.
func (t *transport) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	for range t.balancer.backends {
		one := t.balancer.next()
		if one == nil {
			break
		}
		out := r.Clone(r.Context())
		out.URL = &url.URL{Scheme: "http", Host: one.Addr, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		if body != nil {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		resp, err = t.pool.RoundTrip(out)
		var dial *net.OpError
		if err == nil || !errors.As(err, &dial) || dial.Op != "dial" {
			return resp, err
		}
	}
	if err == nil {
		t.balancer.none.Add(1)
		err = errNone
	}
	return nil, err
}

// readBody is nil for a request without a body.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }() // only read
	return io.ReadAll(r.Body)
}
