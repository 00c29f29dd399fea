// Package probe reads what a run cost: CPU time of processes, the machine's load,
// and the counters that a node publishes on its management port.
package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Counters are what a node counted since its start.
type Counters struct {
	Stores     uint64        // calls of StoreLogs, one fsync each
	StoreTime  time.Duration // spent in them
	Entries    uint64        // log entries stored
	Allocs     uint64        // objects allocated
	AllocBytes uint64
	GC         time.Duration // CPU time of garbage collection; the runtime's estimate, idle-time workers included
	RSS        uint64        // bytes, not a counter
}

// Add sums counters of several nodes.
func (c Counters) Add(o Counters) Counters {
	return Counters{c.Stores + o.Stores, c.StoreTime + o.StoreTime, c.Entries + o.Entries, c.Allocs + o.Allocs,
		c.AllocBytes + o.AllocBytes, c.GC + o.GC, c.RSS + o.RSS}
}

// Since is what was counted after before; RSS stays that of c.
func (c Counters) Since(before Counters) Counters {
	return Counters{c.Stores - before.Stores, c.StoreTime - before.StoreTime, c.Entries - before.Entries, c.Allocs - before.Allocs,
		c.AllocBytes - before.AllocBytes, c.GC - before.GC, c.RSS}
}

// Nodes reads and sums the counters of nodes, by management address.
func Nodes(ctx context.Context, management ...string) (sum Counters, err error) {
	for _, addr := range management {
		c, err := node(ctx, addr)
		if err != nil {
			return sum, fmt.Errorf("probe: %s: %w", addr, err)
		}
		sum = sum.Add(c)
	}
	return sum, nil
}

func node(ctx context.Context, addr string) (c Counters, err error) {
	var status struct {
		Storage struct {
			Stores  uint64 `json:"stores"`
			Entries uint64 `json:"entries"`
			Nanos   int64  `json:"store_nanos"`
		} `json:"storage"`
	}
	err = Get(ctx, "http://"+addr+"/status", readTimeout, func(r io.Reader) error { return json.NewDecoder(r).Decode(&status) })
	if err != nil {
		return c, err
	}
	st := status.Storage
	if st.Stores == 0 {
		return c, errors.New("/status has no counters of the log store")
	}
	c.Stores, c.Entries, c.StoreTime = st.Stores, st.Entries, time.Duration(st.Nanos)
	return c, Get(ctx, "http://"+addr+"/metrics", readTimeout, c.metrics)
}

// metrics reads the process metrics of a Prometheus page.
func (c *Counters) metrics(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	found := 0
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		found++
		switch name {
		case "go_memstats_mallocs_total":
			c.Allocs = uint64(v)
		case "go_memstats_alloc_bytes_total":
			c.AllocBytes = uint64(v)
		case "go_cpu_classes_gc_total_cpu_seconds_total":
			c.GC = time.Duration(v * float64(time.Second))
		case "process_resident_memory_bytes":
			c.RSS = uint64(v)
		default:
			found--
		}
	}
	if found < 4 {
		return fmt.Errorf("/metrics has %d of 4 process metrics", found)
	}
	return lines.Err()
}

const readTimeout = 10 * time.Second

// Get reads the body of what a management port answers with 200.
func Get(ctx context.Context, url string, timeout time.Duration, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return read(resp.Body)
}
