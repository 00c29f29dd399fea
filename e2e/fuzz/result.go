package fuzz

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Result is what one run of a target did: a line of the results file.
type Result struct {
	Commit string    `json:"commit"` // "-dirty" behind it: of changed files
	Date   time.Time `json:"date"`   // of its end
	Load   float64   `json:"load"`   // mean number of runnable processes over the last minute
	CPUs   int       `json:"cpus"`

	Target      string  `json:"target"`
	Executions  int64   `json:"executions"`
	Seconds     float64 `json:"seconds"`
	Interesting int     `json:"interesting"` // inputs in the corpus
	Findings    int     `json:"findings"`
	Input       string  `json:"input,omitempty"` // file of the failing input, from the package's folder
	Output      string  `json:"output,omitempty"`
}

// Rate is executions a second.
func (r Result) Rate() float64 {
	if r.Seconds == 0 {
		return 0
	}
	return float64(r.Executions) / r.Seconds
}

// place notes the machine.
func (r *Result) place() {
	r.CPUs = runtime.NumCPU()
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(raw), &r.Load) // 0 where there is none
	}
}

// append adds the result to a file.
func (r *Result) append(name string) error {
	line, err := json.Marshal(r)
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

// ReadResults reads a results file.
func ReadResults(name string) ([]Result, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var all []Result
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// Commit is what the working copy is at: a tag, or the start of a commit's hash.
func Commit() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
