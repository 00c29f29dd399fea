package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// Outcome is what a client may conclude from an answer, or from none.
type Outcome string

// The outcomes of an operation.
const (
	OK      Outcome = "ok"      // acknowledged
	Refused Outcome = "refused" // surely had no effect
	Unknown Outcome = "unknown" // may have had its effect, or have it later
	Wrong   Outcome = "wrong"   // an answer that no fault explains
)

// Op is one operation of one client.
type Op struct {
	Start  int64   `json:"start"` // nanoseconds since the round began
	End    int64   `json:"end"`
	Client int     `json:"client"`
	Node   int     `json:"node"`
	Kind   string  `json:"op"`
	Key    string  `json:"key"`
	Value  string  `json:"value,omitempty"` // written, or read
	Result Outcome `json:"result"`
	Index  string  `json:"index,omitempty"` // Flagraft-Index of the answer
	Status int     `json:"status,omitempty"`
	Hidden bool    `json:"hidden,omitempty"` // the node said that it does not show this write yet
	Note   string  `json:"note,omitempty"`   // of what was not acknowledged
}

// Recorder keeps the operations of a round, in memory and in a file.
//
// It is under a mutex: clients append from their own goroutines.
type Recorder struct {
	began time.Time
	mu    sync.Mutex
	ops   []Op
	file  *os.File
	out   *bufio.Writer
}

// NewRecorder starts a record; name "" keeps it in memory only.
func NewRecorder(name string) (*Recorder, error) {
	r := &Recorder{began: time.Now()}
	if name == "" {
		return r, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	r.file, r.out = f, bufio.NewWriter(f)
	return r, nil
}

// Now is the time since the round began, in nanoseconds.
func (r *Recorder) Now() int64 { return int64(time.Since(r.began)) }

// Add records an operation that has ended.
func (r *Recorder) Add(o Op) {
	line, err := json.Marshal(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
	if r.out != nil && err == nil {
		_, _ = r.out.Write(append(line, '\n')) // the record in memory counts
	}
}

// Ops returns the operations whose kind begins with the prefix.
func (r *Recorder) Ops(prefix string) []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ops []Op
	for _, o := range r.ops {
		if strings.HasPrefix(o.Kind, prefix) {
			ops = append(ops, o)
		}
	}
	return ops
}

// Close writes what is buffered.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return errors.Join(r.out.Flush(), r.file.Close())
}

// Finish fills in what an answer, or its absence, says of a write.
func (o *Op) Finish(r *Recorder, a *nodes.Answer, err error) {
	o.End = r.Now()
	o.Result = outcome(a, err)
	if a != nil {
		o.Status, o.Index = a.Status, a.Header.Get("Flagraft-Index")
		o.Hidden = a.Header.Get("Flagraft-Visible") == "false"
	}
	if o.Result != OK {
		switch {
		case err != nil:
			o.Note = err.Error()
		default:
			o.Note = string(a.Body[:min(len(a.Body), 300)])
		}
	}
}

// outcome judges the answer to a write.
func outcome(a *nodes.Answer, err error) Outcome {
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return Refused // nothing was sent
		}
		return Unknown
	}
	switch {
	case a.Status >= 200 && a.Status < 300:
		return OK
	case a.Status == 503 && strings.Contains(string(a.Body), "nothing was written"), a.Status == 429, a.Status == 507:
		return Refused // 507: no space on the disks, nothing was written
	case a.Status == 503:
		return Unknown
	}
	return Wrong
}
