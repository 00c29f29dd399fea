package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Edge is a process of Unleash Edge in offline mode.
type Edge struct {
	Addr string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// StartEdge starts what install.sh put into a directory, to serve b with a worker for
// each core. Its output goes to a file in dir.
func StartEdge(ctx context.Context, peers, dir, name string, b *Bootstrap, token string) (*Edge, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the process has its own descriptor
	e := &Edge{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), done: make(chan struct{})}
	e.cmd = exec.Command(filepath.Join(peers, "edge/bin/unleash-edge"), "--interface", "127.0.0.1", "--port", strconv.Itoa(port), "--workers", strconv.Itoa(runtime.NumCPU()),
		"offline", "--bootstrap-file", file, "--tokens", token)
	e.cmd.Stdout, e.cmd.Stderr = out, out
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("compare: Unleash Edge: %w", err)
	}
	go func() {
		_ = e.cmd.Wait() // a killed process is no error here
		close(e.done)
	}()
	if err := e.wait(ctx, token); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

// wait asks until the flags are there.
func (e *Edge) wait(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := e.ask(ctx, token)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("compare: Unleash Edge is not ready: %w", err)
		case <-e.done:
			return errors.New("compare: Unleash Edge ended at once")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (e *Edge) ask(ctx context.Context, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Addr+"/api/frontend/all", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // only the status matters
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// PID is that of the process.
func (e *Edge) PID() int { return e.cmd.Process.Pid }

// Stop ends the process.
func (e *Edge) Stop() {
	_ = e.cmd.Process.Kill() // it may have ended
	<-e.done
}

// EdgeVersion is what install.sh put into a directory.
func EdgeVersion(peers string) (string, error) {
	version, err := os.ReadFile(filepath.Join(peers, "edge/version"))
	if err != nil {
		return "", fmt.Errorf("compare: Unleash Edge is not installed: %w", err)
	}
	return strings.TrimSpace(string(version)), nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
