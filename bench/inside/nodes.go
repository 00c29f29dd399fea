// Package inside runs nodes in this process, for what a socket would hide: the price of
// one request in its handler, the way from a commit to every node's View.
package inside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// Cluster is nodes of one cluster, the leader first.
type Cluster struct {
	Nodes []*server.Node
	fatal chan error
}

// Start starts nodes with the default settings below dir and waits until all are ready.
func Start(ctx context.Context, dir string, count int) (c *Cluster, err error) {
	c = &Cluster{fatal: make(chan error, count)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop(ctx))
		}
	}()
	addrs, err := freeAddrs(count)
	if err != nil {
		return c, err
	}
	for i, addr := range addrs {
		st := settings.Defaults()
		st.DataDir = filepath.Join(dir, fmt.Sprint("inside", i))
		st.APIAddr, st.ManagementAddr, st.ClusterAddr, st.GossipAddr = "127.0.0.1:0", "127.0.0.1:0", addr, ""
		st.AdminEmail, st.AdminPassword, st.LoginPerMinute = nodes.Email, nodes.Password, 0
		st.MaxIdentities, st.ProbeInterval = 20_000_000, 0
		if count > 1 {
			st.Join, st.BootstrapExpect = addrs, count
		}
		n := server.New(st, server.Build{Version: "bench"}, slog.New(slog.DiscardHandler))
		n.OnFatal = func(err error) { c.fatal <- err }
		if err := n.Start(ctx); err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c, c.wait(ctx)
}

// wait returns once all nodes are ready, one leads, and the first user is made.
func (c *Cluster) wait(ctx context.Context) error {
	for {
		if c.Lead() && c.ready() {
			if _, err := c.Client(0).Login(ctx); err == nil {
				return nil
			}
		}
		select {
		case err := <-c.fatal:
			return err
		case <-ctx.Done():
			return fmt.Errorf("inside: nodes do not become ready: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *Cluster) ready() bool {
	for _, n := range c.Nodes {
		if !n.Ready() {
			return false
		}
	}
	return true
}

// Lead moves the leader to the front, and reports whether there is one.
func (c *Cluster) Lead() bool {
	for i, n := range c.Nodes {
		if n.IsLeader() {
			c.Nodes[0], c.Nodes[i] = n, c.Nodes[0]
			return true
		}
	}
	return false
}

// Led runs something that only means anything while one node leads, and again if another one
// did before the end: a machine that is too busy makes leaders change.
func (c *Cluster) Led(ctx context.Context, run func() error) error {
	for tries := 1; ; tries++ {
		if err := c.wait(ctx); err != nil {
			return err
		}
		leader := c.Nodes[0]
		err := run()
		if leader.IsLeader() || ctx.Err() != nil {
			return err
		}
		if tries == 5 {
			return errors.Join(errors.New("inside: another node leads after each run"), err)
		}
	}
}

// Client speaks to a node's API.
func (c *Cluster) Client(i int) *nodes.Client {
	return &nodes.Client{Base: "http://" + c.Nodes[i].APIAddr(), Header: http.Header{"Accept": {"application/json"}}, HTTP: &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// Stop ends all nodes, the last one first: it needs no leader to hand anything to.
func (c *Cluster) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		errs = append(errs, c.Nodes[i].Stop(ctx))
	}
	return errors.Join(errs...)
}

// freeAddrs picks loopback addresses that nobody listens on; all are held until the last is found.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
