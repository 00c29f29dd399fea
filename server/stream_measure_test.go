package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// heard is one event at one client: when, and what it announced, in Unix microseconds.
type heard struct{ at, updated int64 }

// TestMeasureStreams measures, when FLAGRAFT_MEASURE_STREAMS is set to a number of streams (10000): the memory of a node with that many
// streams open, and the time from a change to the event at every client of every node. The clients are another process, so that memory and
// file descriptors are the node's alone; three nodes share this one. Times begin when the change was proposed (its updated_at), before it was
// replicated and on disk, or when the leader had applied it.
func TestMeasureStreams(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("FLAGRAFT_MEASURE_STREAMS"))
	if count == 0 {
		t.Skip("FLAGRAFT_MEASURE_STREAMS is not set")
	}
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) { st.MaxStreams = 2 * count })
	flagged(t, nodes[0])
	applied := map[int64]int64{}
	touch := func() {
		i := slices.IndexFunc(nodes, func(n *servertest.Node) bool { return n.IsLeader() })
		if i < 0 {
			return
		}
		n, done := nodes[i], make(chan int64)
		go func(seq uint64) {
			for n.State().Seq == seq && t.Context().Err() == nil {
				time.Sleep(20 * time.Microsecond) // as exact as the time is known
			}
			done <- time.Now().UnixMicro()
		}(n.State().Seq)
		var at fsm.Time
		if err := n.Update(t.Context(), func(tx *fsm.Tx) error {
			e, _ := fsm.EnvironmentsByAPIKey.First(tx, streamKey)
			tx.TouchEnvironment(e.ID)
			e, _ = fsm.Environments.Get(tx, e.ID)
			at = e.UpdatedAt
			return nil
		}); err != nil {
			t.Log("a change that does not count:", err)
		}
		applied[int64(at)] = <-done
	}
	touch()
	report := func(name string, events []heard) {
		for from, begin := range map[string]func(heard) int64{
			"change":  func(h heard) int64 { return h.updated },
			"applied": func(h heard) int64 { return applied[h.updated] },
		} {
			var took []int64
			for _, h := range events {
				if applied[h.updated] > 0 {
					took = append(took, h.at-begin(h))
				}
			}
			slices.Sort(took)
			at := func(q float64) time.Duration {
				return time.Duration(took[int(q*float64(len(took)-1))]) * time.Microsecond
			}
			t.Logf("%s: %d events, %s to event p50 %v, p99 %v, max %v", name, len(took), from, at(.5), at(.99), at(1))
		}
	}

	// A hundred streams on each node.
	few := make([]*clients, len(nodes))
	for i, n := range nodes {
		few[i] = startClients(t, n.APIAddr(), 100)
	}
	for range 100 {
		touch()
		time.Sleep(20 * time.Millisecond) // the pace of the changes
	}
	for i, c := range few {
		report(fmt.Sprintf("100 streams on node %d of 3", i+1), c.end(t))
	}

	debug.FreeOSMemory()
	before := residentBytes(t)
	many := startClients(t, nodes[1].APIAddr(), count)
	debug.FreeOSMemory()
	after := residentBytes(t)
	t.Logf("%d streams open: RSS %d MB, before %d MB: %.1f KB a stream", count, after>>20, before>>20, float64(after-before)/float64(count)/1024)
	for range 10 {
		touch()
		time.Sleep(time.Second)
	}
	t.Logf("after events: RSS %d MB", residentBytes(t)>>20)
	report(fmt.Sprintf("%d streams on one node", count), many.end(t))
	require.Less(t, after, int64(400<<20))
}

func residentBytes(t testing.TB) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// clients is a process with many clients.
type clients struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	file string
}

// startClients returns when all streams are open and had their first event.
func startClients(t testing.TB, addr string, n int) *clients {
	t.Helper()
	c := &clients{file: filepath.Join(t.TempDir(), "heard")}
	c.cmd = exec.Command(os.Args[0], "-test.run=^TestStreamClients$")
	c.cmd.Env = append(os.Environ(), "FLAGRAFT_STREAM_CLIENTS="+fmt.Sprintf("%s %d %s", addr, n, c.file))
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.cmd.Stderr = os.Stderr
	require.NoError(t, c.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return c
}

// end stops the clients and returns the first event of each version at each.
func (c *clients) end(t testing.TB) (events []heard) {
	t.Helper()
	require.NoError(t, c.in.Close())
	require.NoError(t, c.cmd.Wait())
	raw, err := os.ReadFile(c.file)
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		var h heard
		_, err := fmt.Sscan(line, &h.at, &h.updated)
		require.NoError(t, err)
		events = append(events, h)
	}
	require.NotEmpty(t, events)
	return events
}

// TestStreamClients is the process of startClients.
func TestStreamClients(t *testing.T) {
	var addr, file string
	var n int
	if _, err := fmt.Sscan(os.Getenv("FLAGRAFT_STREAM_CLIENTS"), &addr, &n, &file); err != nil {
		t.Skip("FLAGRAFT_STREAM_CLIENTS is not set")
	}
	first, done := make(chan struct{}, n), make(chan []heard, n)
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "GET /sse/environments/%s/stream HTTP/1.1\r\nHost: h\r\n\r\n", streamKey)
		require.NoError(t, err)
		conns[i] = c
		go hear(c, first, done)
	}
	for range conns {
		<-first
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent has seen enough
	out, err := os.Create(file)
	require.NoError(t, err)
	w := bufio.NewWriter(out)
	for _, c := range conns {
		_ = c.Close()
		for _, h := range (<-done)[1:] {
			fmt.Fprintln(w, h.at, h.updated)
		}
	}
	require.NoError(t, w.Flush())
	require.NoError(t, out.Close())
}

// hear notes when each version is announced first.
func hear(c net.Conn, first chan<- struct{}, done chan<- []heard) {
	var events []heard
	for r := bufio.NewReaderSize(c, 512); ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			done <- events
			return
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		at := time.Now().UnixMicro()
		var d struct {
			UpdatedAt float64 `json:"updated_at"`
		}
		if json.Unmarshal(data, &d) != nil {
			continue
		}
		updated := int64(d.UpdatedAt*1e6 + .5)
		if len(events) == 0 {
			first <- struct{}{}
		} else if events[len(events)-1].updated == updated {
			continue
		}
		events = append(events, heard{at, updated})
	}
}
