package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flagraft/flagraft/server"
)

func (p *patient) checkPorts(ctx context.Context) {
	st := p.settings
	for _, port := range []struct{ flag, addr, network string }{
		{"api-addr", st.APIAddr, "tcp"}, {"cluster-addr", st.ClusterAddr, "tcp"},
		{"gossip-addr", st.GossipAddr, "tcp"}, {"gossip-addr", st.GossipAddr, "udp"}, {"management-addr", st.ManagementAddr, "tcp"},
	} {
		if port.addr != "" {
			p.checkPort(ctx, port.flag, port.network, port.addr)
		}
	}
}

func (p *patient) checkPort(ctx context.Context, flag, network, addr string) {
	check := "port " + flag
	err := listen(ctx, network, addr)
	switch {
	case err == nil:
		p.found(check, OK, "", "%s %s is free", addr, network)
	case errors.Is(err, syscall.EADDRINUSE) && p.running != nil:
		p.found(check, OK, "", "%s %s is in use while the node runs", addr, network)
	case errors.Is(err, syscall.EADDRINUSE):
		p.found(check, Problem, "Another program listens there: stop it, or choose another --"+flag+".", "%s %s is taken", addr, network)
	case errors.Is(err, syscall.EACCES):
		p.found(check, Problem, "This user may not listen there: choose a port from 1024 for --"+flag+", or give the program CAP_NET_BIND_SERVICE.", "%v", err)
	default:
		p.found(check, Problem, "--"+flag+" must be an address of this machine, host:port.", "%v", err)
	}
}

// listen listens for a moment.
func listen(ctx context.Context, network, addr string) error {
	var config net.ListenConfig
	if network == "udp" {
		c, err := config.ListenPacket(ctx, network, addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := config.Listen(ctx, network, addr)
	if err != nil {
		return err
	}
	return l.Close()
}

const dialTimeout = 3 * time.Second

// members are the cluster addresses of other nodes: those the node that runs here knows, and those it is told to ask.
func (p *patient) members() (addrs []string) {
	own := []string{p.settings.ClusterAddr, p.settings.AdvertiseCluster}
	add := func(addr string) {
		if !slices.Contains(addrs, addr) && !slices.Contains(own, addr) {
			addrs = append(addrs, addr)
		}
	}
	if p.running != nil {
		for _, m := range p.running.Peers {
			if m.ID != p.running.NodeID {
				add(m.Address)
			}
		}
	}
	for _, addr := range p.settings.Join {
		add(addr)
	}
	return addrs
}

func (p *patient) checkMembers(ctx context.Context) {
	members := p.members()
	if len(members) == 0 {
		p.found("members", Skipped, "", "no other node is named: --join")
		return
	}
	for _, addr := range members {
		check := "member " + addr
		err := p.dial(ctx, addr)
		var refused *tls.CertificateVerificationError
		var alert tls.AlertError
		switch {
		case err == nil:
			p.found(check, OK, "", "it can be reached")
		case errors.As(err, &refused), errors.As(err, &alert):
			p.found(check, Problem, "Both nodes need certificates of authorities in --cluster-ca, with the name of the same --cluster-name: flagraft ca show, docs/security.md.", "%v", err)
		default:
			p.found(check, Warning, "Is the node up, does it listen on an address that this one reaches (--cluster-addr), and does a firewall let the port through?", "%v", err)
		}
	}
}

// dial connects to a cluster port as a node would, and shakes hands if there are certificates.
func (p *patient) dial(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	config, err := server.ClusterTLS(p.settings).DialTLS(p.settings.ClusterName)
	if err != nil || config == nil {
		return nil // checkCertificates tells
	}
	_ = conn.SetDeadline(time.Now().Add(dialTimeout)) // a fresh connection takes one
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	// What the other side thinks of our certificate comes after the handshake.
	_ = secure.SetReadDeadline(time.Now().Add(dialTimeout / 10)) // as above
	var alert tls.AlertError
	if _, err := secure.Read(make([]byte, 1)); errors.As(err, &alert) || err != nil && strings.Contains(err.Error(), "tls:") {
		return fmt.Errorf("TLS: %w", errors.Join(alert, err))
	}
	return nil
}

// What clocks may differ by. Answers carry whole seconds.
const (
	clockOff   = 2 * time.Second
	clockWrong = 30 * time.Second
)

// apis are the API addresses of other nodes, as far as they are known or can be guessed: on the host of the cluster address, on our own port.
func (p *patient) apis() (addrs []string) {
	if p.running != nil {
		for _, m := range p.running.Peers {
			if m.ID != p.running.NodeID && m.API != "" {
				addrs = append(addrs, m.API)
			}
		}
		return addrs
	}
	_, port, err := net.SplitHostPort(p.settings.APIAddr)
	if err != nil {
		return nil
	}
	for _, addr := range p.members() {
		if host, _, err := net.SplitHostPort(addr); err == nil {
			addrs = append(addrs, net.JoinHostPort(host, port))
		}
	}
	return addrs
}

func (p *patient) checkClock(ctx context.Context) {
	compared := 0
	for _, addr := range p.apis() {
		off, err := clockOffset(ctx, addr)
		if err != nil {
			continue
		}
		compared++
		status := OK
		if off = off.Round(time.Second); off.Abs() > clockWrong {
			status = Problem
		} else if off.Abs() > clockOff {
			status = Warning
		}
		p.found("clock against "+addr, status, "Have both machines follow a time server (chrony, systemd-timesyncd): due times, sign-ins and certificates go by the clock.",
			"this machine is %v ahead", -off)
	}
	if compared == 0 {
		p.found("clock", Skipped, "", "no other node answers on its API: there is nothing to compare with")
	}
}

// clockOffset is how far another node's clock is ahead of ours, to half a second.
func clockOffset(ctx context.Context, addr string) (time.Duration, error) {
	var err error
	for _, scheme := range []string{"http", "https"} {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+addr+"/health/liveness/", nil); err != nil {
			return 0, err
		}
		var resp *http.Response
		start := time.Now()
		if resp, err = direct.Do(req); err != nil {
			continue
		}
		took := time.Since(start)
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // what it says does not matter
		_ = resp.Body.Close()                                        // only read
		var date time.Time
		if date, err = http.ParseTime(resp.Header.Get("Date")); err == nil {
			return date.Add(500 * time.Millisecond).Sub(start.Add(took / 2)), nil
		}
	}
	return 0, err
}
