// Command e2e-cluster starts three nodes, fills them through a follower, writes what
// the clients' programs need to know as shell assignments, and runs until it is told to stop.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/e2e/world"
)

func main() {
	binary := flag.String("binary", "bin/flagraft", "flagraft under test")
	dir := flag.String("dir", "", "empty folder for the nodes' data, logs and the files written here")
	identities := flag.Int("identities", 2000, "identities to compare evaluation for")
	https := flag.Bool("https", false, "serve HTTPS, with certificates that are renewed all the time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *dir, *identities, *https); err != nil {
		slog.Error("e2e-cluster", "err", err)
		os.Exit(1)
	}
}

// run writes dir/env once everything is there, and returns when ctx ends.
func run(ctx context.Context, binary, dir string, identities int, https bool) error {
	o := nodes.Options{Binary: binary, Dir: dir, Count: 3}
	var a *authority
	if https {
		var err error
		if a, err = newAuthority(ctx, binary, dir); err != nil {
			return err
		}
		o.Extra, o.TLS = []string{"--tls-cert", a.certificate, "--tls-key", a.key}, a.trust
	}
	c, err := nodes.StartIn(ctx, o)
	if err != nil {
		return err
	}
	defer c.Stop()
	follower, err := aFollower(ctx, c)
	if err != nil {
		return err
	}
	filling, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	w, err := world.Build(filling, follower.Client())
	if err != nil {
		return fmt.Errorf("fill through a follower: %w", err)
	}
	if _, err := c.OneState(filling); err != nil {
		return err
	}
	file := filepath.Join(dir, "identities.json")
	data, err := json.Marshal(world.Identities(identities))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	if err := writeEnv(filepath.Join(dir, "env"), environment(ctx, c, w, file)); err != nil {
		return err
	}
	if https {
		return a.renewAlways(ctx, c)
	}
	<-ctx.Done()
	return nil
}

func aFollower(ctx context.Context, c *nodes.Cluster) (*nodes.Node, error) {
	leader, err := c.Leader(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Nodes {
		if n != leader {
			return n, nil
		}
	}
	return leader, nil
}

func environment(ctx context.Context, c *nodes.Cluster, w *world.World, identities string) [][2]string {
	var origins []string
	for _, n := range c.Nodes {
		origins = append(origins, n.Origin())
	}
	return [][2]string{
		{"NODES", strings.Join(origins, " ")},
		{"CLIENT_KEY", w.EnvironmentKey}, {"SERVER_KEY", w.ServerKey},
		{"TOKEN", strings.TrimPrefix(w.Admin.Header.Get("Authorization"), "Token ")}, {"MASTER_KEY", w.Master},
		{"PROJECT", fmt.Sprint(w.ID)}, {"ENVIRONMENT", fmt.Sprint(w.EnvironmentID)}, {"LIVE", fmt.Sprint(w.Live)},
		{"STREAMS", fmt.Sprint(streams(ctx, c.Nodes[0].Client(), w.EnvironmentKey))}, {"IDENTITIES", identities},
		{"EMAIL", nodes.Email}, {"PASSWORD", nodes.Password},
	}
}

// streams tells whether the node serves event streams.
func streams(ctx context.Context, c *nodes.Client, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/sse/environments/"+key+"/stream", nil)
	if err != nil {
		return false
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // only read
	return resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// writeEnv writes assignments that a shell can read; the file appears complete.
func writeEnv(name string, values [][2]string) error {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "export FLAGRAFT_%s='%s'\n", v[0], v[1])
	}
	if err := os.WriteFile(name+".new", []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
