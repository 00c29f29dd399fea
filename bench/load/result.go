package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run measured.
type Result struct {
	Requests int           // answered
	Bytes    int64         // of the answers, heads included
	Elapsed  time.Duration // from the first request to the last answer
	Latency  *hdrhistogram.Histogram

	Refused     map[int]int // answers by status, of those that are not wanted
	Unpersisted int         // answers that say the traits are not known to be stored
	Unsent      int         // due in an open run, never sent
	Example     string      // the beginning of one refused answer
}

func newResult() *Result {
	return &Result{Latency: hdrhistogram.New(1, int64(2*time.Minute/time.Microsecond), 3), Refused: map[int]int{}}
}

// Add adds what another run of the same load measured.
func (r *Result) Add(o *Result) {
	r.Requests += o.Requests
	r.Bytes += o.Bytes
	r.Elapsed += o.Elapsed
	r.Latency.Merge(o.Latency)
	for status, n := range o.Refused {
		r.Refused[status] += n
	}
	r.Unpersisted += o.Unpersisted
	r.Unsent += o.Unsent
	if r.Example == "" {
		r.Example = o.Example
	}
}

// Done is the number of requests that did what they asked for.
func (r *Result) Done() int { return r.Requests - r.Unpersisted }

// PerSecond is the throughput in requests that did what they asked for.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Done()) / r.Elapsed.Seconds()
}

// Quantile is a latency, q in percent.
func (r *Result) Quantile(q float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(q)) * time.Microsecond
}

// Err tells why the figures of the run mean nothing: a fast refusal is no answer.
func (r *Result) Err() error {
	var faults []string
	for _, status := range slices.Sorted(maps.Keys(r.Refused)) {
		faults = append(faults, fmt.Sprintf("%d answers with status %d", r.Refused[status], status))
	}
	if r.Unsent > 0 {
		faults = append(faults, fmt.Sprintf("%d requests fell due and were not sent within %s of the end", r.Unsent, grace))
	}
	if r.Done() == 0 {
		faults = append(faults, "no answers")
	}
	if faults == nil {
		return nil
	}
	text := "load: " + strings.Join(faults, ", ")
	if r.Example != "" {
		text += ": " + r.Example
	}
	return fmt.Errorf("%s", text)
}
