package faults

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Sample is what one process holds at rest.
type Sample struct {
	Heap        int64 `json:"heap"`     // bytes of live objects, after a collection, without the cache
	Cache       int64 `json:"cache"`    // bytes of log entries kept in memory, which has a bound
	Resident    int64 `json:"resident"` // bytes of memory, as the system counts
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"`
}

// String shows the sample.
func (s Sample) String() string {
	return fmt.Sprintf("heap %.1f MB and %.1f MB of log, resident %.1f MB, %d goroutines, %d descriptors",
		float64(s.Heap)/1e6, float64(s.Cache)/1e6, float64(s.Resident)/1e6, s.Goroutines, s.Descriptors)
}

var (
	heapLine      = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)`)
	goroutineLine = regexp.MustCompile(`^goroutine profile: total (\d+)`)
	residentLine  = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)
)

// sample measures node i. Idle connections of the clients are closed first: they
// are theirs. The second collection frees what pools kept over the first.
func sample(ctx context.Context, c *Cluster, i int) (s Sample, err error) {
	m := c.Nodes[i].Client()
	m.Base = "http://" + c.Nodes[i].Management
	m.HTTP.CloseIdleConnections()
	sleep(ctx, idleBeforeSample)
	var heap []byte
	for range 3 {
		a, err := m.Must(ctx, "GET", "/debug/pprof/heap?gc=1&debug=1", nil, 200)
		if err != nil {
			return s, err
		}
		heap = a.Body
	}
	routines, err := m.Must(ctx, "GET", "/debug/pprof/goroutine?debug=1", nil, 200)
	if err != nil {
		return s, err
	}
	process := fmt.Sprintf("/proc/%d/", c.Nodes[i].PID())
	status, err := os.ReadFile(process + "status")
	if err != nil {
		return s, err
	}
	descriptors, err := os.ReadDir(process + "fd")
	if err != nil {
		return s, err
	}
	now, err := c.Nodes[i].Status(ctx)
	if err != nil {
		return s, err
	}
	s.Cache = now.Storage.CacheBytes
	s.Heap, s.Resident = number(heapLine, heap)-s.Cache, number(residentLine, status)<<10
	s.Goroutines, s.Descriptors = int(number(goroutineLine, routines.Body)), len(descriptors)
	if s.Heap <= 0 || s.Goroutines == 0 {
		return s, fmt.Errorf("node %d: its profiles are not understood", i)
	}
	return s, nil
}

func number(line *regexp.Regexp, text []byte) int64 {
	found := line.FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return n
}
