package fuzz

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minimizing bounds the time for making an interesting input smaller, in which nothing new is tried.
const minimizing = "2s"

// run fuzzes one target for a time. A finding is not an error of run.
func (t Target) run(ctx context.Context, length time.Duration) (Result, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, t.binary, "-test.run=^$", "-test.fuzz=^"+t.Name+"$", "-test.fuzztime="+length.String(),
		"-test.fuzzcachedir="+t.corpus, "-test.fuzzminimizetime="+minimizing, "-test.timeout=0")
	cmd.Dir = t.dir
	out, err := cmd.CombinedOutput()
	res := Result{Target: t.String(), Seconds: time.Since(began).Seconds()}
	res.Executions, res.Interesting = counts(string(out))
	var exit *exec.ExitError
	switch {
	case err == nil || ctx.Err() != nil:
		return res, ctx.Err()
	case !errors.As(err, &exit):
		return res, fmt.Errorf("%s: %w", t, err)
	case onlyTimeUp(string(out)):
		return res, nil
	}
	res.Findings, res.Output = 1, tail(string(out), 8<<10)
	if m := failingInput.FindStringSubmatch(string(out)); m != nil {
		res.Input = m[1]
	}
	return res, nil
}

var (
	progress     = regexp.MustCompile(`fuzz: elapsed: \S+ execs: (\d+) \([^)]*\)(?:, new interesting: \d+ \(total: (\d+)\))?`)
	failingInput = regexp.MustCompile(`Failing input written to (\S+)`)
)

// counts reads what the fuzzer said last of its executions and its corpus. It counts from zero in each run.
func counts(out string) (executions int64, interesting int) {
	for _, m := range progress.FindAllStringSubmatch(out, -1) {
		executions, _ = strconv.ParseInt(m[1], 10, 64) // digits
		if m[2] != "" {
			interesting, _ = strconv.Atoi(m[2]) // digits
		}
	}
	return executions, interesting
}

// onlyTimeUp tells a worker that was interrupted when the time was over, which Go's fuzzer reports as a failure at times
// (golang.org/issue/75804), from a finding: there is no input, and nothing but the deadline.
func onlyTimeUp(out string) bool {
	if failingInput.MatchString(out) || strings.Contains(out, "panic:") {
		return false
	}
	_, failure, _ := strings.Cut(out, "--- FAIL: ")
	lines := strings.Split(strings.TrimSpace(failure), "\n")
	return len(lines) >= 2 && strings.TrimSpace(lines[1]) == "context deadline exceeded"
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
