package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/cluster/certs"
)

// TLS names the PEM files with which nodes prove to each other that they
// belong to the cluster: the authorities that this node trusts (one or more),
// its own certificate (with intermediate ones, if any) and the key of it. All
// or none are set.
type TLS struct{ CA, Cert, Key string }

func (t TLS) enabled() bool { return t != TLS{} }

func (t TLS) check() error {
	if t.enabled() && (t.CA == "" || t.Cert == "" || t.Key == "") {
		return errors.New("cluster: TLS needs all three files: authority, certificate and key")
	}
	return nil
}

// expirySoon is the rest of a certificate's life in which every check warns.
const expirySoon = 14 * 24 * time.Hour

// wireTLS puts TLS 1.3 with certificates on both sides around the connections
// of the cluster port, and follows changes of the files. Open connections stay
// as they are; new ones use what is loaded. A nil *wireTLS leaves connections plain.
//
// Sessions are never resumed: every connection is judged by the certificates
// that hold when it is made.
type wireTLS struct {
	name   string // DNS name that a node's certificate has
	log    *slog.Logger
	watch  *certs.Watch // owned by load's caller: start, then the loop
	now    atomic.Pointer[loadedTLS]
	reload actor.Signal
	warned time.Time // owned by the loop
}

type loadedTLS struct {
	server, client *tls.Config
	leaf           *x509.Certificate
}

func openTLS(t TLS, clusterName string, log *slog.Logger) (*wireTLS, error) {
	if !t.enabled() {
		return nil, nil
	}
	w := &wireTLS{name: certs.NodeName(clusterName), log: log, watch: certs.NewWatch(t.CA, t.Cert, t.Key), reload: actor.NewSignal()}
	if _, err := w.load(); err != nil {
		return nil, fmt.Errorf("cluster: TLS: %w", err)
	}
	return w, nil
}

// load reads the files and publishes what they hold, if that is new and usable.
func (w *wireTLS) load() (changed bool, err error) {
	contents, changed, err := w.watch.Read()
	if err != nil || !changed {
		return false, err
	}
	loaded, err := w.parse(contents[0], contents[1], contents[2])
	if err != nil {
		return false, err
	}
	w.now.Store(loaded)
	return true, nil
}

func (w *wireTLS) parse(ca, cert, key []byte) (*loadedTLS, error) {
	authorities, err := certs.ParseCertificates(ca)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	for _, a := range authorities {
		pool.AddCert(a)
	}
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	if err := w.checkOwn(own, pool); err != nil {
		return nil, err
	}
	base := tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13,
		SessionTicketsDisabled: true, NextProtos: []string{wireProtocol},
	}
	server, client := base.Clone(), base.Clone()
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, pool
	server.VerifyConnection = func(s tls.ConnectionState) error {
		if err := s.PeerCertificates[0].VerifyHostname(w.name); err != nil {
			return fmt.Errorf("not a node of this cluster: %w", err)
		}
		return nil
	}
	client.RootCAs, client.ServerName = pool, w.name
	// Always: left to itself, a client with a certificate of another authority sends none, and the peer cannot say what is wrong.
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	return &loadedTLS{server: server, client: client, leaf: own.Leaf}, nil
}

// wireProtocol is the application that both sides of a TLS connection must mean.
const wireProtocol = "flagraft-cluster"

// checkOwn refuses a certificate that no peer would take. One that has only
// expired is let pass: the node then serves reads alone, and says so.
func (w *wireTLS) checkOwn(own tls.Certificate, pool *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, der := range own.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := own.Leaf.Verify(x509.VerifyOptions{
			DNSName: w.name, Roots: pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use},
			CurrentTime: clamp(time.Now(), own.Leaf.NotBefore, own.Leaf.NotAfter),
		})
		if err != nil {
			return fmt.Errorf("this node's certificate: %w", err)
		}
	}
	return nil
}

func clamp(t, low, high time.Time) time.Time {
	if t.Before(low) {
		return low
	}
	if t.After(high) {
		return high
	}
	return t
}

// run follows changes of the files until ctx ends; ReloadTLS makes it look at once.
func (w *wireTLS) run(ctx context.Context, every time.Duration) {
	failed := ""
	for {
		w.remind()
		tick := time.NewTimer(every)
		asked := false
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		case <-w.reload.C():
			asked = true
		}
		tick.Stop()
		changed, err := w.load()
		switch {
		case err != nil:
			// Files are written one after the other: a key that does not fit yet is tried again.
			if text := err.Error(); asked || text != failed {
				w.log.Error("cluster certificates stay as they are", "error", err)
				failed = text
			}
			w.watch = certs.NewWatch(w.watch.Paths()...)
		case changed || asked:
			failed = ""
			leaf := w.now.Load().leaf
			w.log.Info("cluster certificates", "changed", changed, "serial", leaf.SerialNumber.Text(16), "expires", leaf.NotAfter)
		}
	}
}

// remind warns of an end that is near, once an hour.
func (w *wireTLS) remind() {
	left := time.Until(w.now.Load().leaf.NotAfter)
	if left > expirySoon || time.Since(w.warned) < time.Hour {
		return
	}
	w.warned = time.Now()
	if left <= 0 {
		w.log.Error("this node's cluster certificate has expired: peers refuse new connections", "expired", w.now.Load().leaf.NotAfter)
		return
	}
	w.log.Warn("this node's cluster certificate expires soon", "expires", w.now.Load().leaf.NotAfter)
}

// accept makes the listener's side of a connection.
func (w *wireTLS) accept(ctx context.Context, c net.Conn) (net.Conn, error) {
	if w == nil {
		return c, nil
	}
	t := tls.Server(c, w.now.Load().server)
	if err := t.HandshakeContext(ctx); err != nil {
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil {
			_, _ = c.Write([]byte{verdictNeedTLS}) // a node without certificates understands it
		}
		return nil, fmt.Errorf("%w: %w", errHandshake, plainer(err))
	}
	return abruptConn{t, c}, nil
}

// connect makes the dialer's side of a connection. The listener judges this
// node's certificate after it returns: what it says shows with the first read.
func (w *wireTLS) connect(ctx context.Context, c net.Conn) (net.Conn, error) {
	if w == nil {
		return c, nil
	}
	t := tls.Client(c, w.now.Load().client)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errHandshake, plainer(err))
	}
	return abruptConn{t, c}, nil
}

// abruptConn closes the socket at once: a farewell of TLS could wait seconds
// for a peer that reads nothing.
type abruptConn struct {
	net.Conn
	raw net.Conn
}

// Close ends the socket.
func (c abruptConn) Close() error { return c.raw.Close() }

// plainer says what an error of TLS means between nodes.
func plainer(err error) error {
	var header tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, &header):
		return fmt.Errorf("the peer does not speak TLS: %w", err)
	case errors.As(err, &remote) && remote.Op == "remote error":
		return fmt.Errorf("the peer refuses this node's certificate: %w", err)
	}
	return err
}

func (n *Node) runCertificates(ctx context.Context) {
	if n.tls != nil {
		n.tls.run(ctx, n.cfg.Timing.Certificates)
	}
}

// ReloadTLS reads the files of the cluster port's certificates again soon;
// changed files are noticed without it, too.
func (n *Node) ReloadTLS() {
	if n.tls != nil {
		n.tls.reload.Raise()
	}
}

// CertificateExpiry is when this node's cluster certificate expires; zero without TLS.
func (n *Node) CertificateExpiry() time.Time {
	if n.tls == nil {
		return time.Time{}
	}
	return n.tls.now.Load().leaf.NotAfter
}

// defaultClusterName is the name of a cluster that was not given any.
const defaultClusterName = "flagraft"

func (c Config) clusterName() string { return cmp.Or(c.ClusterName, defaultClusterName) }
