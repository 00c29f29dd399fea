// Package nodes starts real flagraft processes on loopback, kills them, and talks
// to them: what the end-to-end tests and the benchmarks have in common.
package nodes

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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Email and Password are those of the first superuser of every cluster started here.
const (
	Email    = "admin@example.com"
	Password = "flagraft-E2e-1!"
)

// Cluster is a set of processes that form one cluster.
type Cluster struct {
	Nodes  []*Node
	binary string
	dir    string
	extra  []string
}

// Node is one process; its addresses and data stay the same over restarts.
type Node struct {
	API, Management string // host:port
	Dir             string
	Log             string // file with everything it printed

	args []string
	bin  string
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts n nodes of the binary below dir and waits until all are ready.
// extra are further arguments of every node.
func Start(ctx context.Context, binary, dir string, n int, extra ...string) (*Cluster, error) {
	c := &Cluster{binary: binary, dir: dir, extra: extra}
	ports, err := freePorts(4 * n)
	if err != nil {
		return nil, err
	}
	addr := func(i, k int) string { return fmt.Sprintf("127.0.0.1:%d", ports[4*i+k]) }
	join := make([]string, n)
	for i := range n {
		join[i] = addr(i, 1)
	}
	for i := range n {
		node := &Node{API: addr(i, 0), Management: addr(i, 3), Dir: filepath.Join(dir, "node"+strconv.Itoa(i)), bin: binary}
		node.Log = node.Dir + ".log"
		node.args = append([]string{"serve", "--data-dir", node.Dir, "--api-addr", node.API, "--cluster-addr", addr(i, 1),
			"--gossip-addr", addr(i, 2), "--management-addr", node.Management,
			"--admin-email", Email, "--admin-password", Password, "--login-per-minute", "0"}, extra...)
		if n > 1 {
			node.args = append(node.args, "--bootstrap-expect", strconv.Itoa(n), "--join", strings.Join(join, ","))
		}
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			c.Stop()
			return nil, err
		}
	}
	for _, node := range c.Nodes {
		if err := node.WaitReady(ctx); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.Nodes[0].waitFounded(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// waitFounded waits for the first superuser: a new leader makes it right after the
// nodes became ready.
func (n *Node) waitFounded(ctx context.Context) error {
	for {
		_, err := n.Client().Login(ctx)
		if err == nil {
			return nil
		}
		if stop := pause(ctx, 20*time.Millisecond); stop != nil {
			return fmt.Errorf("no first user: %w: %w", stop, err)
		}
	}
}

// Stop kills every process of the cluster.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Leader asks the living nodes who leads and returns that node.
func (c *Cluster) Leader(ctx context.Context) (*Node, error) {
	for {
		for _, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			if s, err := n.Status(ctx); err == nil && s.IsLeader {
				return n, nil
			}
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("no leader: %w", err)
		}
	}
}

// Start starts the process.
func (n *Node) Start() error {
	if err := os.MkdirAll(filepath.Dir(n.Log), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.Command(n.bin, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd, n.done = cmd, make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // a killed process is no error here
		close(done)
	}(n.cmd, n.done)
	return nil
}

// PID is the process id.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Running reports whether the process lives.
func (n *Node) Running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// Kill ends the process at once (SIGKILL) and waits for it.
func (n *Node) Kill() { n.end(syscall.SIGKILL) }

// Terminate asks the process to stop (SIGTERM) and waits for it.
func (n *Node) Terminate() { n.end(syscall.SIGTERM) }

func (n *Node) end(sig syscall.Signal) {
	if n.Running() {
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
		_ = n.cmd.Process.Signal(sig)
		<-n.done
	}
}

// Pause stops the process without ending it (SIGSTOP) and returns when it stands
// still: the signal stops one thread at once and the others when that one runs,
// which may be much later on a busy machine. Resume goes on.
func (n *Node) Pause() error {
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for range 500 {
		if n.stopped() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("process %d does not stop", n.PID())
}

// stopped reports whether every thread is in state T.
func (n *Node) stopped() bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.PID()))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // behind the name, which may hold anything
		if !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}

// Resume goes on after Pause.
func (n *Node) Resume() error { return n.cmd.Process.Signal(syscall.SIGCONT) }

// WaitReady waits until the node says that it is ready.
func (n *Node) WaitReady(ctx context.Context) error {
	for {
		if !n.Running() {
			tail, _ := os.ReadFile(n.Log)
			return fmt.Errorf("node ended: %s", tail[max(0, len(tail)-2000):])
		}
		resp, err := get(ctx, "http://"+n.Management+"/readyz")
		if err == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("node %s is not ready: %w", n.API, err)
		}
	}
}

// Status is what /status tells, as far as it is used here.
type Status struct {
	NodeID         string `json:"node_id"`
	IsLeader       bool   `json:"is_leader"`
	Leader         string `json:"leader"`
	Term           uint64 `json:"term"`
	CommitIndex    uint64 `json:"commit_index"`
	AppliedIndex   uint64 `json:"applied_index"`
	StateHash      string `json:"state_hash"`
	StateHashIndex uint64 `json:"state_hash_index"`
	Version        string `json:"version"`
	Storage        struct {
		Stores     uint64 `json:"stores"`
		Entries    uint64 `json:"entries"`
		StoreNanos uint64 `json:"store_nanos"`
	} `json:"storage"`
	Peers []struct {
		ID          string `json:"id"`
		Address     string `json:"address"`
		Voter       bool   `json:"voter"`
		LastContact string `json:"last_contact"`
	} `json:"peers"`
}

// Status asks the management port.
func (n *Node) Status(ctx context.Context) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Management+"/status", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// OneState waits until all living nodes report one state hash at one index.
func (c *Cluster) OneState(ctx context.Context) (Status, error) {
	for {
		var first Status
		same := true
		for _, n := range c.Nodes {
			s, err := n.Status(ctx)
			if err != nil {
				same = false
				break
			}
			if first.StateHash == "" {
				first = s
			}
			same = same && s.StateHash == first.StateHash && s.StateHashIndex == first.StateHashIndex
		}
		if same && first.StateHash != "" {
			return first, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return first, fmt.Errorf("nodes do not agree: %w", err)
		}
	}
}

func get(ctx context.Context, url string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = resp.Body.Close() // only the status counts
	}
	return resp, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// freePorts finds ports that nobody listens on, for TCP and UDP. All are held
// until the last is found, so that none is given twice.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []func() error
	defer func() {
		for _, free := range held {
			_ = free()
		}
	}()
	for tries := 0; len(ports) < n; tries++ {
		if tries > 10*n+100 {
			return nil, errors.New("no free ports")
		}
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l.Close)
		port := l.Addr().(*net.TCPAddr).Port
		u, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held = append(held, u.Close)
		ports = append(ports, port)
	}
	return ports, nil
}
