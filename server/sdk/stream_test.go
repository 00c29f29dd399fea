package sdk

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/cluster/certs"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// streamHouse is a house whose streams can be connected to.
type streamHouse struct {
	*house
	streams *Streams
	addr    string
	alone   atomic.Bool
	reached atomic.Uint64 // index that all nodes have
}

func newStreamHouse(t testing.TB, change ...func(*StreamsConfig)) *streamHouse {
	h := &streamHouse{}
	h.alone.Store(true)
	config := StreamsConfig{Everywhere: func(uint64) uint64 { return h.reached.Load() }, Alone: h.alone.Load}
	for _, f := range change {
		f(&config)
	}
	h.house = newHouse(t)
	config.Views = h.Views
	h.streams = NewStreams(config)
	h.sdk.Streams = h.streams
	h.Views.OnView(func(*fsm.View) { h.streams.Wake() })
	h.Views.OnGone(func(uint64) { h.streams.Wake() })
	h.serve()
	t.Cleanup(h.streams.Stop)
	return h
}

// serve answers each connection with one request, as the HTTP server does.
func (h *streamHouse) serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h.t, err)
	h.addr = l.Addr().String()
	server := &fasthttp.Server{KeepHijackedConns: true, NoDefaultServerHeader: true, NoDefaultDate: true, Handler: func(ctx *fasthttp.RequestCtx) {
		var m route.Match
		if h.table.Lookup(ctx.Method(), ctx.URI().PathOriginal(), &m) {
			m.Row.Handler.(route.RawHandler).ServeRaw(ctx, &m)
		}
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = server.ServeConn(c)
		}
	}()
	h.t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
}

// update gives the environment a newer version and returns what clients are told.
func (h *streamHouse) update() string {
	h.t.Helper()
	h.Write(h.t, func(tx *fsm.Tx) error {
		tx.TouchEnvironment(h.env.ID)
		return nil
	})
	return h.version()
}

func (h *streamHouse) version() string {
	v := h.view()
	return fmt.Sprintf(`{"updated_at": %s}`, v.UpdatedAt)
}

func (h *streamHouse) view() *fsm.View {
	l, _ := h.Views.ByID(h.env.ID)
	return l.View()
}

// listener is a client.
type listener struct {
	t    testing.TB
	conn net.Conn
	resp *http.Response
	body *bufio.Reader
}

func (h *streamHouse) connect(path string, header ...string) *listener {
	h.t.Helper()
	c, err := net.Dial("tcp", h.addr)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = c.Close() })
	require.NoError(h.t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, strings.Join(header, ""))
	require.NoError(h.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(h.t, err)
	return &listener{t: h.t, conn: c, resp: resp, body: bufio.NewReader(resp.Body)}
}

func (h *streamHouse) listen(header ...string) *listener {
	h.t.Helper()
	l := h.connect("/sse/environments/"+clientKey+"/stream", header...)
	require.Equal(h.t, 200, l.resp.StatusCode)
	return l
}

// block reads up to the next empty line.
func (l *listener) block() string {
	l.t.Helper()
	var b strings.Builder
	for {
		line, err := l.body.ReadString('\n')
		require.NoError(l.t, err, b.String())
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// event reads the next event and returns its token and its data.
func (l *listener) event() (token, data string) {
	l.t.Helper()
	for {
		b := l.block()
		if strings.HasPrefix(b, ":") {
			continue
		}
		lines := strings.Split(b, "\n")
		require.Len(l.t, lines, 4, b)
		require.Equal(l.t, "event: environment_updated", lines[1])
		token, ok := strings.CutPrefix(lines[0], "id: ")
		require.True(l.t, ok)
		data, ok := strings.CutPrefix(lines[2], "data: ")
		require.True(l.t, ok)
		return token, data
	}
}

func (l *listener) data() string {
	l.t.Helper()
	_, data := l.event()
	return data
}

func TestStreamOnTheWire(t *testing.T) {
	h := newStreamHouse(t)
	for _, version := range []string{"1.1", "1.0"} {
		c, err := net.Dial("tcp", h.addr)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = fmt.Fprintf(c, "GET /sse/environments/%s/stream HTTP/%[2]s\r\nHost: h\r\nX-Request-ID: stream-%[2]s\r\n\r\n", clientKey, version)
		require.NoError(t, err)
		r := bufio.NewReader(c)
		expect := func() {
			event := fmt.Sprintf("id: %s\nevent: environment_updated\ndata: %s\n\n", h.view().IndexToken, h.version())
			if version == "1.1" {
				event = fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
			}
			got := make([]byte, len(event))
			_, err := io.ReadFull(r, got)
			require.NoError(t, err)
			require.Equal(t, event, string(got))
		}
		var head strings.Builder
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			line, err := r.ReadString('\n')
			require.NoError(t, err)
			head.WriteString(line)
		}
		require.Contains(t, head.String(), "HTTP/1.1 200 OK\r\n")
		require.Contains(t, head.String(), "Content-Type: text/event-stream\r\n")
		require.Contains(t, head.String(), "Cache-Control: no-cache\r\n")
		require.Contains(t, head.String(), "Access-Control-Allow-Origin: *\r\n")
		require.NotContains(t, head.String(), "Content-Length")
		require.Equal(t, 1, strings.Count(head.String(), "X-Request-Id: stream-"+version+"\r\n"))
		require.Equal(t, version == "1.1", strings.Contains(head.String(), "Transfer-Encoding: chunked\r\n"))
		expect()
		h.update()
		expect()
	}
	require.Equal(t, 200, h.do("HEAD", "/sse/environments/"+clientKey+"/stream", "", "").status)
}

func TestStreamIsRefused(t *testing.T) {
	h := newStreamHouse(t, func(c *StreamsConfig) { c.Max = 1 })
	path := func(key string) string { return "/sse/environments/" + key + "/stream" }
	for key, want := range map[string]string{"unknown": `{"detail":"Invalid or missing Environment Key"}`, serverKey: `{"detail":"Invalid or missing Environment key"}`} {
		a := h.do("GET", path(key), "", "")
		require.Equal(t, 403, a.status)
		require.JSONEq(t, want, a.body)
	}
	h.listen()
	require.Equal(t, 503, h.do("GET", path(clientKey), "", "").status, "one is open, more may not be")
	h.Write(t, func(tx *fsm.Tx) error {
		h.org.StopServingFlags = true
		fsm.Organisations.Put(tx, h.org)
		return nil
	})
	require.Equal(t, 403, h.do("GET", path(clientKey), "", "").status)
}

func TestLastEventID(t *testing.T) {
	h := newStreamHouse(t)
	token, data := h.listen().event()
	require.Equal(t, h.version(), data)
	require.Equal(t, string(h.view().IndexToken), token)

	seen := h.listen("Last-Event-ID: " + token + "\r\n") // nothing is new
	for _, old := range []string{"zzzzzzzz-999999", "x", "", h.FSM.State().Genesis.Epoch + "-1"} {
		require.Equal(t, data, h.listen("Last-Event-ID: "+old+"\r\n").data(), old)
	}
	newer := h.update()
	require.NotEqual(t, data, newer)
	require.Equal(t, newer, seen.data(), "the first it hears")
	require.Equal(t, newer, h.listen("Last-Event-ID: "+token+"\r\n").data())
}

func TestEventIsSentAgainWhenAllNodesHaveIt(t *testing.T) {
	h := newStreamHouse(t)
	h.alone.Store(false)
	h.reached.Store(h.view().Index)
	l := h.listen()
	before, _ := l.event()
	require.Equal(t, string(h.view().IndexToken), before)

	newer := h.update()
	token, data := l.event()
	require.Equal(t, newer, data)
	require.Equal(t, before, token, "not everybody has the View: who comes back with this is told again")
	require.Equal(t, newer, h.listen("Last-Event-ID: "+token+"\r\n").data())

	h.reached.Store(h.view().Index)
	h.streams.Wake()
	token, data = l.event()
	require.Equal(t, newer, data)
	require.Equal(t, string(h.view().IndexToken), token)

	h.streams.Wake() // and not a third time
	again := h.update()
	require.Equal(t, again, l.data())
}

func TestOFREPStream(t *testing.T) {
	h := newStreamHouse(t)
	l := h.connect("/sse/environments/" + clientKey + "/ofrep")
	token := string(h.view().IndexToken)
	require.Equal(t, "id: "+token+"\ndata: {\"type\": \"refetchEvaluation\", \"etag\": \""+token+"\"}\n", l.block())
}

func TestKeepAliveIsAComment(t *testing.T) {
	h := newStreamHouse(t, func(c *StreamsConfig) { c.Ping = 60 * time.Millisecond })
	l := h.listen()
	l.event()
	require.Equal(t, ": ping\n", l.block())
	require.Equal(t, ": ping\n", l.block())
}

func TestStreamsEnd(t *testing.T) {
	h := newStreamHouse(t)
	end := func(l *listener) {
		l.event()
		rest, err := io.ReadAll(l.body) // fails unless the last chunk comes
		require.NoError(t, err)
		require.Empty(t, rest)
	}
	var other fsm.Environment
	h.Write(t, func(tx *fsm.Tx) error {
		other = fsm.Environments.Put(tx, fsm.Environment{Name: "Other", APIKey: "other", Project: h.proj.ID})
		return nil
	})
	gone, stays := h.connect("/sse/environments/other/stream"), h.listen()
	require.Eventually(t, func() bool { return h.streams.Open() == 2 }, 10*time.Second, time.Millisecond)
	h.Write(t, func(tx *fsm.Tx) error {
		fsm.Environments.Delete(tx, other.ID)
		return nil
	})
	end(gone)
	require.Eventually(t, func() bool { return h.streams.Open() == 1 }, 10*time.Second, time.Millisecond)
	h.streams.Stop()
	end(stays)
	require.Zero(t, h.streams.Open())
	require.Equal(t, 503, h.do("GET", "/sse/environments/"+clientKey+"/stream", "", "").status)
}

// TestStreamsOfAReplacedKeyEnd: it opens nothing else any more.
func TestStreamsOfAReplacedKeyEnd(t *testing.T) {
	h := newStreamHouse(t)
	old := h.listen()
	old.event()
	h.Write(t, func(tx *fsm.Tx) error {
		e, _ := fsm.Environments.Get(tx, h.env.ID)
		e.APIKey = "replaced"
		fsm.Environments.Put(tx, e)
		tx.TouchEnvironment(e.ID)
		return nil
	})
	rest, err := io.ReadAll(old.body) // fails unless the last chunk comes
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, 403, h.do("GET", "/sse/environments/"+clientKey+"/stream", "", "").status)
	fresh := h.connect("/sse/environments/replaced/stream")
	fresh.event()
	version := h.update()
	require.Equal(t, version, fresh.data())
}

// TestStreamsOfAKeyReplacedMeanwhileEnd: its streams may come to the writer after the View with the new key.
func TestStreamsOfAKeyReplacedMeanwhileEnd(t *testing.T) {
	h := newStreamHouse(t)
	w := newStreamWriter(&Streams{config: h.streams.config})
	w.loop.Stop() // the test is the writer
	live, _ := h.Views.ByID(h.env.ID)
	open := func(key string) {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = near.Close() })
		go func() { _, _ = io.Copy(io.Discard, near) }()
		s := &stream{live: live, key: key}
		s.own(far)
		w.open(s)
	}
	open("replaced")
	require.Zero(t, w.streams.Open(), "alone")
	open(clientKey)
	open("replaced")
	require.Equal(t, 1, w.streams.Open(), "beside one of the present key")
	require.Len(t, w.topics[live].streams, 1)
	w.publish()
	require.Equal(t, 1, w.streams.Open())
}

// TestClientsThatWentAwayAreForgotten: a write to a closed connection fails.
func TestClientsThatWentAwayAreForgotten(t *testing.T) {
	h := newStreamHouse(t, func(c *StreamsConfig) { c.Ping = 60 * time.Millisecond })
	l := h.listen()
	l.event()
	require.NoError(t, l.conn.Close())
	require.Eventually(t, func() bool { return h.streams.Open() == 0 }, 10*time.Second, time.Millisecond)
	require.Zero(t, h.streams.Dropped())
}

// TestSlowClients fills a socket. The client is left alone, gets the rest of what
// was begun and then the newest event only, or is dropped if it never reads on.
func TestSlowClients(t *testing.T) {
	plain := func(c, client net.Conn) (net.Conn, net.Conn) { return c, client }
	t.Run("plain", func(t *testing.T) { slowClients(t, plain) })
	t.Run("TLS", func(t *testing.T) { slowClients(t, underTLS(t)) })
}

// underTLS puts TLS around both ends of a connection, as the server's listener does.
func underTLS(t *testing.T) func(c, client net.Conn) (net.Conn, net.Conn) {
	ca, err := certs.NewAuthority("flagraft", time.Now(), time.Hour)
	require.NoError(t, err)
	p, err := ca.Issue(certs.Request{Hosts: []string{"127.0.0.1"}, Lifetime: time.Hour}, time.Now())
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)
	return func(c, client net.Conn) (net.Conn, net.Conn) {
		far := tls.Server(&tapped{Conn: c}, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key}}})
		near := tls.Client(client, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
		done := make(chan error, 1)
		go func() { done <- near.HandshakeContext(t.Context()) }()
		require.NoError(t, far.HandshakeContext(t.Context()))
		require.NoError(t, <-done)
		return far, near
	}
}

func slowClients(t *testing.T, around func(c, client net.Conn) (net.Conn, net.Conn)) {
	h := newStreamHouse(t)
	w := newStreamWriter(&Streams{config: h.streams.config})
	w.loop.Stop() // the test is the writer
	open := func() (*stream, net.Conn) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		client, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		require.NoError(t, client.(*net.TCPConn).SetReadBuffer(4096))
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, c.(*net.TCPConn).SetWriteBuffer(4096))
		live, _ := h.Views.ByID(h.env.ID)
		s := &stream{live: live, key: clientKey}
		far, near := around(c, client)
		s.own(far)
		w.open(s)
		return s, near
	}
	s, client := open()
	for range 1_000_000 {
		if w.event(s); s.rest != nil {
			break
		}
	}
	require.NotNil(t, s.rest, "the socket is full")
	sent := w.streams.Events()
	for range 3 {
		h.update()
		w.publish()
	}
	require.Equal(t, sent, w.streams.Events())
	newest := h.version()
	got := make(chan string)
	go func() {
		_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
		last := ""
		for r := bufio.NewScanner(client); last != newest && r.Scan(); {
			if data, ok := strings.CutPrefix(r.Text(), "data: "); ok {
				last = data
			}
		}
		got <- last
	}()
	for s.rest != nil || s.behind {
		w.keep(time.Now())
	}
	require.Equal(t, newest, <-got)
	require.Equal(t, sent+1, w.streams.Events(), "of three events one was sent")

	for range 1_000_000 {
		if w.event(s); s.rest != nil {
			break
		}
	}
	w.keep(s.since.Add(slowFor))
	require.Equal(t, 1, w.streams.Open())
	for w.streams.Dropped() == 0 { // until the socket takes nothing at all any more
		w.keep(s.since.Add(slowFor + time.Second))
	}
	require.Zero(t, w.streams.Open())
	require.Empty(t, w.topics)
}
