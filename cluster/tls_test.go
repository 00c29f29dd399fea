package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/certs"
)

// logBook is a log that a test can read.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *logBook) says(t *testing.T, words string) {
	t.Helper()
	require.Eventually(t, func() bool { return bytes.Contains([]byte(b.String()), []byte(words)) }, patience, 5*time.Millisecond, "the log does not say %q", words)
}

func newAuthority(t *testing.T) certs.Pair {
	t.Helper()
	ca, err := certs.NewAuthority(defaultClusterName, time.Now().Add(-2*time.Hour), 4*time.Hour)
	require.NoError(t, err)
	return ca
}

// nodeFiles writes a node's certificate; at moves the moment of issue.
func nodeFiles(t *testing.T, trusted []certs.Pair, issuer certs.Pair, cluster string, at time.Time, lifetime time.Duration) TLS {
	t.Helper()
	p, err := issuer.Issue(certs.Request{Cluster: cluster, Name: "n", Lifetime: lifetime}, at)
	require.NoError(t, err)
	dir := t.TempDir()
	files := TLS{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "node.crt"), Key: filepath.Join(dir, "node.key")}
	writeTLS(t, files, trusted, p)
	return files
}

func writeTLS(t *testing.T, files TLS, trusted []certs.Pair, own certs.Pair) {
	t.Helper()
	var bundle []byte
	for _, a := range trusted {
		bundle = append(bundle, a.CertificatePEM()...)
	}
	key, err := own.KeyPEM()
	require.NoError(t, err)
	for path, text := range map[string][]byte{files.CA: bundle, files.Cert: own.CertificatePEM(), files.Key: key} {
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
}

func goodFiles(t *testing.T, ca certs.Pair) TLS {
	return nodeFiles(t, []certs.Pair{ca}, ca, defaultClusterName, time.Now(), time.Hour)
}

func TestThreeNodesWithCertificatesFormACluster(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, secret := range []string{"", "and a secret as well"} {
		members := startTrio(t, func(_ int, c *Config) { c.TLS, c.Secret = goodFiles(t, ca), secret })
		sameCluster(t, members...)
		index := committedIndex(t, "x", members...)
		for _, m := range members {
			m.fsm.wait(t, index)
		}
		// Nothing of the log can be read on the wire: a plain connection gets nowhere.
		c, err := net.Dial("tcp", members[0].node.Addr())
		require.NoError(t, err)
		_, err = c.Write(preface{purpose: purposeCall, nodeID: "x"}.encode())
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Less(t, len(answer), 20, "an alert, and the end")
		c.Close()
	}
}

// stranger dials a member with other credentials and returns how that went.
func stranger(t *testing.T, target *member, name, secret string, files TLS) (*logBook, error) {
	t.Helper()
	keys, err := deriveKeys(secret, name)
	require.NoError(t, err)
	book := &logBook{}
	var w *wireTLS
	if files.enabled() {
		w = &wireTLS{name: certs.NodeName(name), log: book.logger(), watch: certs.NewWatch(files.CA, files.Cert, files.Key)}
		contents, _, err := w.watch.Read()
		require.NoError(t, err)
		// Not load: it refuses what is plainly wrong before anybody is asked.
		loaded, err := lenient(contents)
		require.NoError(t, err)
		loaded.client.ServerName = certs.NodeName(defaultClusterName)
		w.now.Store(loaded)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := newMux(l, l.Addr().String(), keys.connection, w, "stranger", 3*time.Second, 30*time.Second, book.logger())
	defer m.close()
	for _, purpose := range []byte{purposeCall, purposeRaft} {
		c, dialErr := m.dial(t.Context(), target.node.Addr(), purpose, target.node.ID())
		if dialErr == nil {
			c.Close()
			return book, nil
		}
		err = dialErr
	}
	return book, err
}

// lenient is parse without the node's own check of its certificate.
func lenient(contents [][]byte) (*loadedTLS, error) {
	own, err := tls.X509KeyPair(contents[1], contents[2])
	if err != nil {
		return nil, err
	}
	client := &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }, MinVersion: tls.VersionTLS13, NextProtos: []string{wireProtocol}, InsecureSkipVerify: true}
	return &loadedTLS{client: client, server: client, leaf: own.Leaf}, nil
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	const secret = "the right secret of this cluster"
	ca, other := newAuthority(t), newAuthority(t)
	book := &logBook{}
	host := newMember(t, func(c *Config) { c.TLS, c.Secret, c.Logger = goodFiles(t, ca), secret, book.logger() }).start()
	host.node.mux.refusals.logAll()
	waitReady(t, host)
	apiOnly, err := ca.Issue(certs.Request{Name: "api", Hosts: []string{certs.NodeName(defaultClusterName)}, Lifetime: time.Hour}, time.Now())
	require.NoError(t, err)
	api := goodFiles(t, ca)
	writeTLS(t, api, []certs.Pair{ca}, apiOnly)

	_, friend := stranger(t, host, defaultClusterName, secret, goodFiles(t, ca))
	require.NoError(t, friend, "the test's own way in works")
	for _, c := range []struct {
		name, cluster, secret string
		files                 TLS
		dialer, listener      string // what their logs and errors say
	}{
		{"no certificate", defaultClusterName, secret, TLS{}, "the peer asks for TLS", "first record does not look like a TLS handshake"},
		{"another authority", defaultClusterName, secret, nodeFiles(t, []certs.Pair{ca}, other, defaultClusterName, time.Now(), time.Hour),
			"the peer refuses this node's certificate", "signed by unknown authority"},
		{"expired", defaultClusterName, secret, nodeFiles(t, []certs.Pair{ca}, ca, defaultClusterName, time.Now().Add(-time.Hour), time.Minute),
			"the peer refuses this node's certificate: remote error: tls: expired certificate", "certificate has expired"},
		{"another cluster's name", defaultClusterName, secret, nodeFiles(t, []certs.Pair{ca}, ca, "staging", time.Now(), time.Hour),
			"the peer refuses this node's certificate", "not a node of this cluster"},
		{"a certificate for the API", defaultClusterName, secret, api, "the peer refuses this node's certificate", "incompatible key usage"},
		{"another secret", defaultClusterName, "a wrong secret", goodFiles(t, ca), "refused this node's cluster secret", "wrong cluster secret"},
		{"the secret of another cluster", "staging", secret, goodFiles(t, ca), "refused this node's cluster secret", "wrong cluster secret"},
		{"no secret", defaultClusterName, "", goodFiles(t, ca), "the peer asks for a cluster secret", "only one side has a cluster secret"},
	} {
		dialed, err := stranger(t, host, c.cluster, c.secret, c.files)
		require.ErrorIs(t, err, errHandshake, c.name)
		require.ErrorContains(t, err, c.dialer, c.name)
		dialed.says(t, c.dialer)
		book.says(t, c.listener)
	}
	stillAlone(t, host)
}

// stillAlone tells that a node of one has its configuration and serves.
func stillAlone(t *testing.T, m *member) {
	t.Helper()
	require.Len(t, m.node.Members(), 1)
	require.Equal(t, m.node.ID(), m.node.Members()[0].ID)
	m.propose("still here")
}

func (r *refusals) logAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = 0
}

// A node that is about to connect refuses a listener that only pretends.
func TestDialerRefusesAFalseListener(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	host := newMember(t, func(c *Config) { c.TLS = goodFiles(t, ca) }).start()
	for name, files := range map[string]TLS{
		"signed by unknown authority":         nodeFiles(t, []certs.Pair{other}, other, defaultClusterName, time.Now(), time.Hour),
		"not node.flagraft.flagraft.internal": nodeFiles(t, []certs.Pair{ca}, ca, "staging", time.Now(), time.Hour),
		"certificate has expired":             nodeFiles(t, []certs.Pair{ca}, ca, defaultClusterName, time.Now().Add(-time.Hour), time.Minute),
	} {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		require.NoError(t, err)
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{wireProtocol}})
		require.NoError(t, err)
		go func() {
			if c, err := l.Accept(); err == nil {
				c.(*tls.Conn).Handshake()
				c.Close()
			}
		}()
		_, err = host.node.mux.dial(t.Context(), l.Addr().String(), purposeCall, "")
		require.ErrorIs(t, err, errHandshake)
		require.ErrorContains(t, err, name)
		l.Close()
	}
}

func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Secret = "the right secret" },
		func(c *Config) { c.TLS = goodFiles(t, ca) },
	} {
		host := newMember(t, change).start()
		waitReady(t, host)
		for _, raw := range [][]byte{
			[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), bytes.Repeat([]byte{0}, 4096), bytes.Repeat([]byte{0xff}, 70000),
			{0x16, 3, 1, 0xff, 0xff}, []byte("FRC1"), append([]byte("FRC1\x01\x01"), bytes.Repeat([]byte{0xff}, 600)...),
		} {
			c, err := net.Dial("tcp", host.node.Addr())
			require.NoError(t, err)
			c.Write(raw)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
			c.Close()
		}
		stillAlone(t, host)
	}
}

func TestCertificatesReload(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	books := [3]*logBook{{}, {}, {}}
	var files [3]TLS
	members := startTrio(t, func(i int, c *Config) {
		files[i] = goodFiles(t, ca)
		c.TLS, c.Logger, c.Timing.Certificates = files[i], books[i].logger(), 20*time.Millisecond
	})
	issue := func(issuer certs.Pair) certs.Pair {
		p, err := issuer.Issue(certs.Request{Cluster: defaultClusterName, Name: "n", Lifetime: time.Hour}, time.Now())
		require.NoError(t, err)
		return p
	}
	serve := func(entry string) {
		index := committedIndex(t, entry, members...)
		for _, m := range members {
			m.fsm.wait(t, index)
		}
	}
	// Rotation of the authority: first everybody trusts both, then certificates change, then the old one goes.
	next := newAuthority(t)
	for step, trusted := range [][]certs.Pair{{ca, next}, {ca, next}, {next}} {
		for i, m := range members {
			own := issue(next)
			if step == 0 {
				own = issue(ca)
			}
			writeTLS(t, files[i], trusted, own)
			serial := own.Certificate.SerialNumber
			eventually(t, func() bool { return m.node.tls.now.Load().leaf.SerialNumber.Cmp(serial) == 0 })
		}
		for _, m := range members {
			m.node.mux.closeConnections() // new ones have to be made
		}
		serve(fmt.Sprint("step ", step))
	}
	_, old := stranger(t, members[0], defaultClusterName, "", goodFiles(t, ca))
	require.ErrorIs(t, old, errHandshake, "the old authority is not trusted any more")

	// What cannot be used is refused and the good one stays.
	require.NoError(t, os.WriteFile(files[0].Cert, []byte("rubbish"), 0o600))
	books[0].says(t, "cluster certificates stay as they are")
	members[0].node.ReloadTLS()
	members[0].node.mux.closeConnections()
	serve("with rubbish in the file")
}

// closeConnections ends every accepted connection.
func (m *mux) closeConnections() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		c.Close()
	}
}

func TestUselessCertificatesAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	good := goodFiles(t, ca)
	for want, files := range map[string]TLS{
		"needs all three files":               {Cert: good.Cert},
		"no such file":                        {CA: good.CA, Cert: good.Cert, Key: good.Key + "x"},
		"private key does not match":          {CA: good.CA, Cert: good.Cert, Key: goodFiles(t, ca).Key},
		"signed by unknown authority":         nodeFiles(t, []certs.Pair{other}, ca, defaultClusterName, time.Now(), time.Hour),
		"not node.flagraft.flagraft.internal": nodeFiles(t, []certs.Pair{ca}, ca, "staging", time.Now(), time.Hour),
	} {
		m := newMember(t, func(c *Config) { c.TLS = files })
		err := m.tryStart()
		require.ErrorContains(t, err, want)
	}
	m := newMember(t, func(c *Config) { c.ClusterName = "No Name" })
	require.ErrorContains(t, m.tryStart(), "lower-case")

	// An expired one is no reason not to serve what is there.
	book := &logBook{}
	expired := newMember(t, func(c *Config) {
		c.TLS, c.Logger = nodeFiles(t, []certs.Pair{ca}, ca, defaultClusterName, time.Now().Add(-time.Hour), time.Minute), book.logger()
	}).start()
	waitReady(t, expired)
	book.says(t, "has expired: peers refuse")
}

// recorder passes connections on to a node and keeps what the dialer sent.
type recorder struct {
	net.Listener
	mu   sync.Mutex
	sent [][]byte
}

func record(t *testing.T, target string) *recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &recorder{Listener: l}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { r.pass(ctx, c, target) })
		}
	})
	t.Cleanup(func() { cancel(); l.Close(); work.Wait() })
	return r
}

func (r *recorder) pass(ctx context.Context, c net.Conn, target string) {
	defer c.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() { c.Close(); far.Close() })()
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(c, far); c.Close() }()
	r.mu.Lock()
	r.sent = append(r.sent, nil)
	at := len(r.sent) - 1
	r.mu.Unlock()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		r.mu.Lock()
		r.sent[at] = append(r.sent[at], buf[:n]...)
		r.mu.Unlock()
		if _, werr := far.Write(buf[:n]); err != nil || werr != nil {
			break
		}
	}
	far.Close()
	<-done
}

// recorded is what was sent so far, connection by connection, in copies: a
// connection may still be passing on.
func (r *recorder) recorded() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([][]byte, len(r.sent))
	for i, raw := range r.sent {
		all[i] = bytes.Clone(raw)
	}
	return all
}

// A recorded join, played back byte by byte, gets nowhere: both sides chose
// what the proof is about afresh.
func TestReplayedJoinIsRefused(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, change := range map[string]func(*Config){
		"secret":       func(c *Config) { c.Secret = "the right secret" },
		"certificates": func(c *Config) { c.TLS = goodFiles(t, ca) },
	} {
		t.Run(name, func(t *testing.T) {
			book := &logBook{}
			host := newMember(t, func(c *Config) { change(c); c.Logger = book.logger() }).start()
			waitReady(t, host)
			tape := record(t, host.node.Addr())
			joiner := newMember(t, func(c *Config) { change(c); c.Join, c.NonVoter = []string{tape.Addr().String()}, true }).start()
			waitReady(t, joiner)
			joined := joiner.node.ID()
			joiner.stop()
			require.NoError(t, host.node.Remove(patient(t), joined))
			require.Len(t, host.node.Members(), 1)
			sent := tape.recorded()
			require.NotEmpty(t, sent)
			for _, raw := range sent {
				c, err := net.Dial("tcp", host.node.Addr())
				require.NoError(t, err)
				c.Write(raw)
				c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				io.Copy(io.Discard, c)
				c.Close()
			}
			book.says(t, "connection refused")
			stillAlone(t, host)
		})
	}
}
