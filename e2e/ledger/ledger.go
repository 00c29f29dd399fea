// Package ledger keeps results of long runs: files to which every run appends a
// line, and the parts of documents that are made of them.
package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Entry is where and when a result came about; every result embeds one.
type Entry struct {
	Commit string    `json:"commit"` // "-dirty" behind it: of changed files
	Date   time.Time `json:"date"`   // of its end
	Load   float64   `json:"load"`   // mean number of runnable processes over the last minute
	CPUs   int       `json:"cpus"`
}

// Now is an entry of this moment on this machine.
func Now(commit string) Entry {
	e := Entry{Commit: commit, Date: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU()}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(raw), &e.Load) // 0 where there is none
	}
	return e
}

// Where returns the entry itself: what results are known by.
func (e Entry) Where() Entry { return e }

// Append adds a result to a file as a line of JSON.
func Append[R any](name string, result R) error {
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// maxLine bounds one result when reading.
const maxLine = 16 << 20

// Read reads a file of results.
func Read[R any](name string) ([]R, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var all []R
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var r R
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// Of returns the results of one commit, "" meaning that of the last result, and a
// line that says when and where they came about.
func Of[R interface{ Where() Entry }](all []R, commit string) (some []R, heading string) {
	if commit == "" && len(all) > 0 {
		commit = all[len(all)-1].Where().Commit
	}
	low, high := math.Inf(1), 0.0
	for _, r := range all {
		if strings.HasPrefix(r.Where().Commit, commit) {
			some = append(some, r)
			low, high = min(low, r.Where().Load), max(high, r.Where().Load)
		}
	}
	if len(some) == 0 {
		return nil, ""
	}
	const minute = "2 Jan 2006 15:04"
	first, last := some[0].Where(), some[len(some)-1].Where()
	return some, fmt.Sprintf("Commit %s, %s to %s UTC, %d CPUs, load %.0f to %.0f.\n\n",
		last.Commit, first.Date.Format(minute), last.Date.Format(minute), last.CPUs, low, high)
}

// Into replaces what stands between two markers in a document.
func Into(name, begin, end, text string) error {
	document, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(document, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		return fmt.Errorf("%s has no place for results: %s … %s", name, begin, end)
	}
	return os.WriteFile(name, slices.Concat(before, []byte(begin+"\n"+text), []byte(end), after), 0o644)
}
