package fuzz

import (
	"os/exec"
	"strings"

	"github.com/flagraft/flagraft/e2e/ledger"
)

// Result is what one run of a target did: a line of the results file.
type Result struct {
	ledger.Entry

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

// ReadResults reads a results file.
func ReadResults(name string) ([]Result, error) { return ledger.Read[Result](name) }

// Commit is what the working copy is at: a tag, or the start of a commit's hash.
func Commit() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
