package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openloop "github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// resident is a member of /proc/PID/status in bytes ("RssAnon", "VmHWM").
func resident(t *testing.T, pid int, member string) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for _, line := range strings.Split(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, member+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return n << 10
		}
	}
	t.Fatal("no ", member)
	return 0
}

// confine puts a process into a memory cgroup of its own, where that can be made (cgroup v1 or v2, root): going past it kills the process.
func confine(t *testing.T, pid int, limit int64) bool {
	for _, g := range []struct{ dir, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(g.dir, fmt.Sprint("flagraft-test-", pid))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // empty by then: the process has ended
		if os.WriteFile(filepath.Join(dir, g.file), []byte(fmt.Sprint(limit)), 0o644) == nil &&
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644) == nil {
			return true
		}
	}
	return false
}

// TestOverload sends one node with a memory limit far more than it can do: identity writes in an open loop, bodies that become large lists,
// and connections that send half a request. It answers what it can and refuses the rest, stays below its limit, takes admin writes all the
// time, never fails a health probe, and is as before when it is over.
func TestOverload(t *testing.T) {
	const limit, hard = 256 << 20, 384 << 20
	c, ctx := start(t, 1, "--memory-limit", fmt.Sprint(limit), "--header-timeout", "2s", "--max-features", "100000")
	n := c.Nodes[0]
	t.Cleanup(n.Kill) // before the cgroup is removed
	confined := confine(t, n.PID(), hard)
	p := project(t, ctx, n)
	// Pages of files, the program's and the mapped log's, are the system's to take back: they are no memory of the process.
	idle := resident(t, n.PID(), "RssAnon")

	var stop atomic.Bool
	var work sync.WaitGroup
	var reads, shed, other, writes, refused, probes, peak atomic.Int64
	steady := func(every time.Duration, do func()) {
		work.Go(func() {
			for !stop.Load() {
				do()
				time.Sleep(every)
			}
		})
	}
	sdk := n.Client().With("X-Environment-Key", p.EnvironmentKey)
	admin := at(n, p.Admin)
	admin.HTTP = n.Client().HTTP
	watch := n.Client().HTTP
	_, err := sdk.Must(ctx, "GET", "/api/v1/flags/", nil, 200) // both keep their connection, as balancers do
	require.NoError(t, err)
	tag := func(i int64) int {
		a, err := admin.Do(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/tags/", p.ID), map[string]any{"label": fmt.Sprint("t", i)})
		if err != nil {
			return 0
		}
		return a.Status
	}
	require.Equal(t, 201, tag(-1))

	steady(20*time.Millisecond, func() {
		switch a, err := sdk.Do(ctx, "GET", "/api/v1/flags/", nil); {
		case err != nil:
			other.Add(1)
		case a.Status == 200:
			reads.Add(1)
		case a.Status == 503 && a.Header.Get("Retry-After") != "":
			shed.Add(1)
		default:
			other.Add(1)
		}
	})
	var labels atomic.Int64
	steady(50*time.Millisecond, func() {
		if tag(labels.Add(1)) == 201 {
			writes.Add(1)
		} else {
			refused.Add(1)
		}
	})
	var sick atomic.Int64
	steady(100*time.Millisecond, func() {
		for _, path := range []string{"/livez", "/readyz"} {
			resp, err := watch.Get("http://" + n.Management + path)
			if err != nil || resp.StatusCode != 200 {
				sick.Add(1)
			}
			if err == nil {
				_ = resp.Body.Close()
			}
			probes.Add(1)
		}
		peak.Store(max(peak.Load(), resident(t, n.PID(), "RssAnon")))
	})

	began := time.Now()
	work.Go(func() { bigBodies(ctx, n, p, &stop) })
	work.Go(func() { halfRequests(n, &stop) })
	result := flood(t, ctx, n, p)
	stop.Store(true)
	work.Wait()
	t.Logf("%v, confined to %d MB by a cgroup: %v. Open loop: %+v", time.Since(began).Round(time.Second), hard>>20, confined, result)
	t.Logf("memory %d MB before, %d MB at most, limit %d MB; SDK reads: %d answered, %d refused; admin writes: %d done, %d refused; %d probes",
		idle>>20, peak.Load()>>20, limit>>20, reads.Load(), shed.Load(), writes.Load(), refused.Load(), probes.Load())
	require.True(t, n.Running())
	require.Zero(t, sick.Load(), "health probes that failed")
	require.Less(t, peak.Load(), int64(limit)*5/4, "memory")
	require.NotZero(t, reads.Load())
	require.NotZero(t, writes.Load())

	// It is over: everything is as before, at once.
	require.Eventually(t, func() bool {
		a, err := sdk.Do(ctx, "GET", "/api/v1/flags/", nil)
		return err == nil && a.Status == 200 && tag(labels.Add(1)) == 201
	}, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		a, err := sdk.Do(ctx, "POST", "/api/v1/identities/", map[string]any{"identifier": "after",
			"traits": []any{map[string]any{"trait_key": "k", "trait_value": time.Now().UnixNano()}}})
		return err == nil && a.Status == 200 && a.Header.Get("Flagraft-Traits-Persisted") == ""
	}, 10*time.Second, 10*time.Millisecond)
}

// flood posts identities with traits that always change, several times faster than they can be stored.
func flood(t *testing.T, ctx context.Context, n *nodes.Node, p *nodes.Project) string {
	t.Helper()
	g, err := openloop.Dial(300, n.API)
	require.NoError(t, err)
	defer g.Close()
	filler := strings.Repeat("x", 1500)
	i := uint64(0)
	source := func(dst []byte) []byte {
		i++
		body := fmt.Sprintf(`{"identifier":"u%d","traits":[{"trait_key":"n","trait_value":%d},{"trait_key":"f","trait_value":"%s"}]}`, i%2000, i, filler)
		return fmt.Appendf(dst, "POST /api/v1/identities/ HTTP/1.1\r\nHost: x\r\nX-Environment-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			p.EnvironmentKey, len(body), body)
	}
	r, err := g.Run(ctx, openloop.Options{Source: source, Rate: 40_000, Duration: 8 * time.Second})
	if err != nil {
		return err.Error() // connections that were shed
	}
	return fmt.Sprintf("%d requests sent, %d stored, p99 %v", r.Requests, r.Done(), r.Quantile(0.99).Round(time.Millisecond))
}

// bigBodies sends megabytes of small numbers on many connections, which cost most when they are parsed.
func bigBodies(ctx context.Context, n *nodes.Node, p *nodes.Project, stop *atomic.Bool) {
	body := []byte("[" + strings.Repeat("1,", 500_000) + "1]")
	var work sync.WaitGroup
	for range 40 {
		work.Go(func() {
			client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			for !stop.Load() {
				req, err := http.NewRequestWithContext(ctx, "PUT", "http://"+n.API+"/api/v1/traits/bulk/", strings.NewReader(string(body)))
				if err != nil {
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-Environment-Key", p.ServerKey)
				if resp, err := client.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		})
	}
	work.Wait()
}

// halfRequests opens connections that send half a header and no more.
func halfRequests(n *nodes.Node, stop *atomic.Bool) {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for i := 0; !stop.Load() && len(open) < 3000; i++ {
		if c, err := net.DialTimeout("tcp", n.API, time.Second); err == nil {
			_, _ = fmt.Fprintf(c, "GET /api/v1/flags/ HTTP/1.1\r\nHost: x\r\nX-Half: %d", i)
			open = append(open, c)
		}
	}
	for !stop.Load() {
		time.Sleep(50 * time.Millisecond)
	}
}
