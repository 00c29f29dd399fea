// Package mutant builds flagraft, or runs a package's tests, with a line of the
// source changed: a check that does not fail on a broken build checks nothing.
// The source itself is not touched; the Go command reads the changed files from
// an overlay.
package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Edit is one change of one file.
type Edit struct {
	File string // relative to the module's root, with slashes: "cluster/transport.go"
	Old  string // must occur exactly once, so that a change of the source is noticed
	New  string
}

// timeout bounds one run of the Go command.
const timeout = 5 * time.Minute

// Build builds ./cmd/flagraft with the edits and returns the binary's path. The
// test fails if an edit does not fit or the result does not compile. Without
// edits it builds the sound program.
func Build(t testing.TB, edits ...Edit) (binary string) {
	t.Helper()
	return BuildAt(t, moduleRoot(t), edits...)
}

// BuildAt is Build of the source in another folder.
func BuildAt(t testing.TB, root string, edits ...Edit) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "flagraft")
	output, err := run(t, root, edits, "build", "-o", binary, "./cmd/flagraft")
	if err != nil {
		t.Fatalf("build of the mutant: %v\n%s", err, output)
	}
	return binary
}

// Test runs a package's tests (pkg as in "./cluster", run as in go test -run) with
// the edits, and returns what was printed. err is nil if the tests passed. An edit
// that does not fit, a mutant that does not compile, or a pattern that matches no
// test fails the calling test: none of these says anything about the mutant.
func Test(t testing.TB, pkg, testRun string, edits ...Edit) (output string, err error) {
	t.Helper()
	output, err = run(t, moduleRoot(t), edits, "test", "-count=1", "-v", "-run", testRun, pkg)
	switch {
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		t.Fatalf("build of the mutant: %v\n%s", err, output)
	case !strings.Contains(output, "=== RUN"):
		t.Fatalf("no test ran: %v\n%s", err, output)
	}
	return output, err
}

func run(t testing.TB, root string, edits []Edit, command string, args ...string) (output string, err error) {
	t.Helper()
	overlay, err := overlayFile(root, t.TempDir(), edits)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{command, "-overlay", overlay}, args...)...)
	cmd.Dir = root
	cmd.WaitDelay = time.Second
	raw, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("go %s: not done after %v\n%s", command, timeout, raw)
	}
	return string(raw), err
}

// moduleRoot is found by this file's own place.
func moduleRoot(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		t.Skip("the place of the source is not known (built with -trimpath)")
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// overlayFile writes the edited files and the list of them below dir.
func overlayFile(root, dir string, edits []Edit) (string, error) {
	texts := map[string]string{}
	for _, e := range edits {
		text, known := texts[e.File]
		if !known {
			raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return "", fmt.Errorf("mutant: %w", err)
			}
			text = string(raw)
		}
		if n := strings.Count(text, e.Old); n != 1 || e.Old == "" {
			return "", fmt.Errorf("mutant: %s holds %d times, not once: %q", e.File, n, e.Old)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for file, text := range texts {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("mutant: %w", err)
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	var list bytes.Buffer
	if err := json.NewEncoder(&list).Encode(map[string]any{"Replace": replace}); err != nil {
		return "", fmt.Errorf("mutant: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list.Bytes(), 0o600)
}
