package server_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/certs"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// secureNode is a node whose API speaks HTTPS.
type secureNode struct {
	*servertest.Node
	authority certs.Pair
	cert, key string
	trust     *tls.Config
}

func startSecure(t *testing.T, change ...func(*settings.Settings)) *secureNode {
	t.Helper()
	ca, err := certs.NewAuthority("flagraft", time.Now(), time.Hour)
	require.NoError(t, err)
	dir := t.TempDir()
	n := &secureNode{authority: ca, cert: filepath.Join(dir, "api.crt"), key: filepath.Join(dir, "api.key")}
	n.issue(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)
	n.trust = &tls.Config{RootCAs: pool}
	n.Node = servertest.Start(t, append(change, func(st *settings.Settings) { st.TLSCert, st.TLSKey = n.cert, n.key })...)
	return n
}

// issue writes a new certificate and returns its serial number.
func (n *secureNode) issue(t *testing.T) string {
	t.Helper()
	p, err := n.authority.Issue(certs.Request{Name: "api", Hosts: []string{"127.0.0.1"}, Lifetime: time.Hour}, time.Now())
	require.NoError(t, err)
	key, err := p.KeyPEM()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(n.cert, p.CertificatePEM(), 0o600))
	require.NoError(t, os.WriteFile(n.key, key, 0o600))
	return p.Certificate.SerialNumber.String()
}

func (n *secureNode) dial(t *testing.T) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", n.APIAddr(), n.trust)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	return c
}

func TestHTTPS(t *testing.T) {
	n := startSecure(t, func(st *settings.Settings) { st.TLSMinVersion = "1.3" })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: n.trust}}
	defer client.CloseIdleConnections()
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, servertest.AdminEmail, servertest.AdminPassword)
	for range 3 {
		resp, err := client.Post("https://"+n.APIAddr()+"/api/v1/auth/login/", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		var answer struct{ Key string }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		require.NoError(t, resp.Body.Close())
		require.Len(t, answer.Key, 40)
		require.Equal(t, 1, resp.ProtoMajor)
	}
	// What is told about addresses says https.
	resp, err := client.Get("https://" + n.APIAddr() + "/config/project-overrides")
	require.NoError(t, err)
	script := make([]byte, 500)
	k, _ := resp.Body.Read(script)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(script[:k]), "https://")

	// Plain HTTP, old versions and unknown authorities get nowhere; the node goes on.
	_, err = http.Get("http://" + n.APIAddr() + "/health")
	require.Error(t, err)
	_, err = tls.Dial("tcp", n.APIAddr(), &tls.Config{RootCAs: n.trust.RootCAs, MaxVersion: tls.VersionTLS12})
	require.Error(t, err)
	_, err = tls.Dial("tcp", n.APIAddr(), &tls.Config{})
	require.ErrorContains(t, err, "unknown authority")

	// A new certificate is for new connections; the open one goes on.
	before := n.dial(t)
	serial := n.issue(t)
	n.Reload()
	require.Eventually(t, func() bool {
		c, err := tls.Dial("tcp", n.APIAddr(), n.trust)
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String() == serial
	}, 20*time.Second, 5*time.Millisecond)
	require.NotEqual(t, serial, before.ConnectionState().PeerCertificates[0].SerialNumber.String())
	require.NoError(t, os.WriteFile(n.key, []byte("rubbish"), 0o600))
	n.Reload()
	_, err = fmt.Fprintf(before, "GET /health HTTP/1.1\r\nHost: h\r\n\r\n")
	require.NoError(t, err)
	health, err := http.ReadResponse(bufio.NewReader(before), nil)
	require.NoError(t, err)
	require.Equal(t, 200, health.StatusCode)
	n.dial(t) // with the good one still
}

func TestStreamsUnderTLS(t *testing.T) {
	t.Parallel()
	n := startSecure(t)
	flagged(t, n.Node)
	open := func() (*tls.Conn, *http.Response) {
		c := n.dial(t)
		_, err := fmt.Fprintf(c, "GET /sse/environments/%s/stream HTTP/1.1\r\nHost: h\r\n\r\n", streamKey)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		return c, resp
	}
	conn, resp := open()
	s := &stream{t: t, conn: conn, body: bufio.NewReader(resp.Body)}
	last, _ := s.event()
	touch := func() {
		require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error {
			for e := range fsm.Environments.All(tx) {
				e.UpdatedAt = tx.Now()
				fsm.Environments.Put(tx, e)
			}
			return nil
		}))
	}
	for range 20 {
		touch()
		token, _ := s.event()
		require.NotEqual(t, last, token)
		last = token
	}

	// One that reads nothing keeps nobody waiting: its events coalesce. The kernel's buffers are made small.
	slow, _ := open()
	require.NoError(t, slow.NetConn().(*net.TCPConn).SetReadBuffer(1024))
	for range 200 {
		touch()
		token, _ := s.event()
		require.NotEqual(t, last, token)
		last = token
	}
	lines := bufio.NewReader(slow)
	for {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, "the slow one gets to the newest event, over records that are whole")
		if strings.TrimSpace(line) == "id: "+last {
			break
		}
	}
}

func TestHTTPSSettingsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*settings.Settings){
		"both --tls-cert and --tls-key": func(st *settings.Settings) { st.TLSCert = "x" },
		"no such file":                  func(st *settings.Settings) { st.TLSCert, st.TLSKey = "/nowhere/x", "/nowhere/y" },
	} {
		require.ErrorContains(t, servertest.TryStart(t, change), want)
	}
}
