// Package nodes starts real flagraft processes on loopback, kills them, and talks
// to them: what the end-to-end tests and the benchmarks have in common.
package nodes

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

// Options say what to start, and where.
type Options struct {
	Binary string
	Dir    string // the nodes' data and logs go below it
	Count  int
	Extra  []string // further arguments of every node
	// NodeEnv returns further environment variables of a node, NAME=value; nil: none.
	NodeEnv func(i int) []string
	// Hosts are where the nodes run, at least Count of them; none: all on
	// loopback, on free ports.
	Hosts []Host
	// Dial connects to the hosts; nil: as usual.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is how clients reach an API that Extra made speak HTTPS; nil: HTTP.
	TLS *tls.Config
}

// Host is a place for one node, with addresses of its own.
type Host interface {
	IP() string
	// Launch starts a command there.
	Launch(*exec.Cmd) error
}

// Cluster is a set of processes that form one cluster.
type Cluster struct {
	Nodes []*Node
	opts  Options
	http  *http.Transport
}

// Node is one process; its addresses and data stay the same over restarts.
type Node struct {
	API, Cluster, Management string // host:port
	Dir                      string
	Log                      string // file with everything it printed

	args   []string
	env    []string
	opts   *Options
	binary string // instead of the options'
	host   Host   // nil: loopback
	http   *http.Transport
	cmd    *exec.Cmd
	done   chan struct{}
}

// Start starts n nodes of the binary below dir and waits until all are ready.
// extra are further arguments of every node.
func Start(ctx context.Context, binary, dir string, n int, extra ...string) (*Cluster, error) {
	return StartIn(ctx, Options{Binary: binary, Dir: dir, Count: n, Extra: extra})
}

// StartIn starts the nodes and waits until all are ready.
func StartIn(ctx context.Context, o Options) (*Cluster, error) {
	c, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Prepare places the nodes and starts none.
func Prepare(o Options) (*Cluster, error) { return newCluster(o) }

// newCluster places the nodes.
func newCluster(o Options) (*Cluster, error) {
	c := &Cluster{opts: o, http: &http.Transport{DialContext: o.Dial, TLSClientConfig: o.TLS, MaxIdleConnsPerHost: 64}}
	addr := func(i, k int) string { return fmt.Sprintf("%s:%d", o.Hosts[i].IP(), 8000+k) }
	if o.Hosts == nil {
		ports, err := freePorts(4 * o.Count)
		if err != nil {
			return nil, err
		}
		addr = func(i, k int) string { return fmt.Sprintf("127.0.0.1:%d", ports[4*i+k]) }
	}
	join := make([]string, o.Count)
	for i := range join {
		join[i] = addr(i, 1)
	}
	for i := range o.Count {
		node := &Node{API: addr(i, 0), Cluster: join[i], Management: addr(i, 3), Dir: filepath.Join(o.Dir, "node"+strconv.Itoa(i)),
			opts: &c.opts, http: c.http}
		node.Log = node.Dir + ".log"
		node.args = append([]string{"serve", "--data-dir", node.Dir, "--api-addr", node.API, "--cluster-addr", node.Cluster,
			"--gossip-addr", addr(i, 2), "--management-addr", node.Management,
			"--admin-email", Email, "--admin-password", Password, "--login-per-minute", "0"}, o.Extra...)
		if o.Count > 1 {
			node.args = append(node.args, "--bootstrap-expect", strconv.Itoa(o.Count), "--join", strings.Join(join, ","))
		}
		if o.NodeEnv != nil {
			node.env = o.NodeEnv(i)
		}
		if o.Hosts != nil {
			node.host = o.Hosts[i]
			node.args = append(node.args, "--cluster-secret", "e2e-secret-of-all-nodes")
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			return err
		}
	}
	for _, node := range c.Nodes {
		if err := node.WaitReady(ctx); err != nil {
			return err
		}
	}
	if err := c.Nodes[0].waitFounded(ctx); err != nil {
		return err
	}
	return c.waitLevel(ctx)
}

// waitLevel waits until every node has applied the highest format level that all of
// them know: until then a new cluster refuses what needs it.
func (c *Cluster) waitLevel(ctx context.Context) error {
	for {
		known, applied := uint8(math.MaxUint8), uint8(math.MaxUint8)
		for _, n := range c.Nodes {
			s, err := n.Status(ctx)
			if err != nil {
				applied = 0
				break
			}
			known, applied = min(known, s.KnownFormatLevel), min(applied, s.FormatLevel)
		}
		if applied >= known {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("format level %d of %d: %w", applied, known, err)
		}
	}
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
	c.http.CloseIdleConnections()
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
	cmd := exec.Command(cmp.Or(n.binary, n.opts.Binary), n.args...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.Stdout, cmd.Stderr = log, log
	launch := (*exec.Cmd).Start
	if n.host != nil {
		launch = n.host.Launch
	}
	if err := launch(cmd); err != nil {
		return err
	}
	n.cmd, n.done = cmd, make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // a killed process is no error here
		close(done)
	}(n.cmd, n.done)
	return nil
}

// Use makes later starts run another binary.
func (n *Node) Use(binary string) { n.binary = binary }

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

// ExitCode is that of a process that ended by itself; -1: a signal ended it, or it lives.
func (n *Node) ExitCode() int {
	if n.Running() {
		return -1
	}
	return n.cmd.ProcessState.ExitCode()
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

// Signal sends a signal and does not wait.
func (n *Node) Signal(sig syscall.Signal) error { return n.cmd.Process.Signal(sig) }

// Resume goes on after Pause.
func (n *Node) Resume() error { return n.cmd.Process.Signal(syscall.SIGCONT) }

// WaitReady waits until the node says that it is ready.
func (n *Node) WaitReady(ctx context.Context) error {
	for {
		if !n.Running() {
			tail, _ := os.ReadFile(n.Log)
			return fmt.Errorf("node ended: %s", tail[max(0, len(tail)-2000):])
		}
		resp, err := n.get(ctx, "http://"+n.Management+"/readyz")
		if err == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("node %s is not ready: %w", n.API, err)
		}
	}
}

func (n *Node) get(ctx context.Context, url string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: n.http}).Do(req)
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
// until the last is found, so that none is given twice. They are below those that the
// system gives to connections, one of which might have it before the node does.
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
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue // taken
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
