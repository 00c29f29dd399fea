//go:build linux

package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCommands runs every page that has something to run.
func TestCommands(t *testing.T) {
	binary := os.Getenv("FLAGRAFT_BINARY")
	if binary == "" {
		t.Skip("FLAGRAFT_BINARY is not set")
	}
	cluster, err := Read(filepath.Join(root, "docs/three-machines.md"))
	require.NoError(t, err)
	for _, page := range pages(t) {
		if !page.Runs() {
			continue
		}
		t.Run(page.name(), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, binary)
			if strings.HasPrefix(page.name(), "docs/operations/") {
				s.play(t, cluster)
			}
			s.play(t, page)
		})
	}
}

// stage is the shell of a page, with its machines.
type stage struct {
	dir     string
	to      io.Writer
	answers *bufio.Reader
	blocks  int
}

// newStage begins a stage; it goes with the test.
func newStage(t *testing.T, binary string) *stage {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "ip", "bash", "curl", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the stage needs " + tool)
		}
	}
	s := &stage{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "bin"), 0o755))
	binary, err := filepath.Abs(binary)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(binary, filepath.Join(s.dir, "bin/flagraft")))
	repository, err := filepath.Abs(root)
	require.NoError(t, err)

	args := []string{"--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"}
	if os.Getuid() != 0 {
		args = append(args, "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(args, "true")...).CombinedOutput(); err != nil {
		t.Skipf("namespaces are not permitted: %s", out)
	}
	cmd := exec.Command("unshare", append(args, "bash", filepath.Join(repository, "e2e/docs/stage/begin"), s.dir)...)
	cmd.Env = []string{"PATH=" + s.dir + "/bin:" + os.Getenv("PATH"), "LANG=C.UTF-8", "GOPROXY=off", "GOFLAGS=-mod=readonly",
		// What was built and fetched before; and the repository is where its address leads.
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"),
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=url." + repository + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/flagraft/flagraft",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*"}
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // and with it everything on the stage
		_ = cmd.Wait()
	})
	s.to, s.answers = in, bufio.NewReader(out)
	return s
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// play runs the blocks of a page.
func (s *stage) play(t *testing.T, page *Page) {
	t.Helper()
	for _, b := range page.Blocks {
		if b.Language == "sh" && b.NotRun == "" {
			began := time.Now()
			if err := s.block(b); err != nil {
				t.Fatalf("%s:%d: %v\n%s", page.name(), b.Line, err, s.logs())
			}
			t.Logf("%s:%d %.1fs", page.name(), b.Line, time.Since(began).Seconds())
		}
	}
}

// patience is how long a block may take, or be repeated.
const patience = 90 * time.Second

// block runs one block and looks at what it prints.
func (s *stage) block(b *Block) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	want := pattern(b.Prints, !b.Terminal)
	kind := "strict"
	switch {
	case b.Terminal:
		kind = "terminal"
	case b.Repeat || b.Exit != 0:
		kind = "lax"
	}
	var before string // what it printed the last time
	for {
		s.blocks++
		file := filepath.Join(s.dir, fmt.Sprintf("block-%d", s.blocks))
		if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
			return err
		}
		code, err := s.run(ctx, kind, file)
		for err == nil && b.Terminal && !matches(want, file+".out") && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
		printed, _ := os.ReadFile(file + ".out")
		if len(printed) > 0 && printed[len(printed)-1] != '\n' {
			printed = append(printed, '\n')
		}
		told := fmt.Sprintf("it printed\n%s", printed)
		switch {
		case err != nil:
			return fmt.Errorf("%w; %s; and before that\n%s", err, told, before)
		case code == b.Exit && (b.Prints == "" || want.Match(printed)):
			return nil
		case b.Repeat && ctx.Err() == nil:
			before = string(printed)
			time.Sleep(200 * time.Millisecond)
		case code != b.Exit:
			return fmt.Errorf("exit code %d, not %d; %s", code, b.Exit, told)
		default:
			return fmt.Errorf("%s\nand not\n%s", told, b.Prints)
		}
	}
}

func matches(want interface{ Match([]byte) bool }, file string) bool {
	printed, err := os.ReadFile(file)
	return err == nil && want.Match(printed)
}

// run has the shell run a file and returns the exit code.
func (s *stage) run(ctx context.Context, kind, file string) (int, error) {
	if _, err := fmt.Fprintln(s.to, kind, file); err != nil {
		return 0, err
	}
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := s.answers.ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return 0, errors.New("a command failed") // and ended the shell
		}
		return strconv.Atoi(strings.TrimSpace(a.line))
	case <-ctx.Done():
		return 0, fmt.Errorf("it did not end within %v", patience)
	}
}

// logs are the ends of what the machines logged.
func (s *stage) logs() string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(s.dir, "node-*/log"))
	for _, file := range files {
		log, _ := os.ReadFile(file)
		fmt.Fprintf(&b, "== %s\n%s\n", file, log[max(0, len(log)-3000):])
	}
	return b.String()
}
