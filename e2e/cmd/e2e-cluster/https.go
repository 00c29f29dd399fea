package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// authority is a directory of `flagraft ca` with one certificate for the APIs.
type authority struct {
	binary, dir      string
	certificate, key string
	trust            *tls.Config
}

func newAuthority(ctx context.Context, binary, dir string) (*authority, error) {
	a := &authority{binary: binary, dir: dir, certificate: filepath.Join(dir, "api.crt"), key: filepath.Join(dir, "api.key")}
	if err := a.run(ctx, "init"); err != nil {
		return nil, err
	}
	if err := a.run(ctx, "issue", "api", "--api", "--host", "127.0.0.1", "--out", dir); err != nil {
		return nil, err
	}
	roots, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	a.trust = &tls.Config{RootCAs: x509.NewCertPool()}
	if !a.trust.RootCAs.AppendCertsFromPEM(roots) {
		return nil, errors.New("no certificate in ca.crt")
	}
	return a, nil
}

func (a *authority) run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, a.binary, append([]string{"ca", args[0], "--dir", a.dir}, args[1:]...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ca %s: %w: %s", args[0], err, out)
	}
	return nil
}

// renewAlways gives the nodes new certificates, with new keys, until ctx ends. Each
// that all of them serve is a line in dir/renewed; one that is not served is an error.
func (a *authority) renewAlways(ctx context.Context, c *nodes.Cluster) error {
	log, err := os.Create(filepath.Join(a.dir, "renewed"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // each line is checked
	for ctx.Err() == nil {
		if err := a.renew(ctx, c); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if _, err := fmt.Fprintln(log, time.Now().Format(time.RFC3339Nano)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

func (a *authority) renew(ctx context.Context, c *nodes.Cluster) error {
	if err := a.run(ctx, "renew", "api", "--new-key", "--out", a.dir); err != nil {
		return err
	}
	file, err := os.ReadFile(a.certificate)
	if err != nil {
		return err
	}
	made, _ := pem.Decode(file)
	if made == nil {
		return fmt.Errorf("no certificate in %s", a.certificate)
	}
	for _, n := range c.Nodes {
		if err := n.Signal(syscall.SIGHUP); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, n := range c.Nodes {
		for {
			served, err := a.served(ctx, n)
			if err != nil {
				return err // a trusted certificate at every moment
			}
			if bytes.Equal(served, made.Bytes) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s does not serve its new certificate", n.API)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// served is the certificate of a new connection.
func (a *authority) served(ctx context.Context, n *nodes.Node) ([]byte, error) {
	conn, err := (&tls.Dialer{Config: a.trust}).DialContext(ctx, "tcp", n.API)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing is sent
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, nil
}
