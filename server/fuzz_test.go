package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/ofrep"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/sdk"
	"github.com/flagraft/flagraft/server/settings"
)

// inProcess is the API of a node whose log is applied at once, in memory: everything between a request's head and its answer is real.
type inProcess struct {
	*Server
	end         func()
	node        *fsmtest.Node
	token       string
	environment string // the API key of one
}

// lasting is the life of an inProcess: longer than one input, shorter than the target.
type lasting struct {
	testing.TB
	ends []func()
}

// Helper does nothing: that of the target must not be called for an input.
func (l *lasting) Helper() {}

// Cleanup keeps what is to be done at the end.
func (l *lasting) Cleanup(end func()) { l.ends = append(l.ends, end) }

func (l *lasting) close() {
	for _, end := range slices.Backward(l.ends) {
		end()
	}
}

// self is a leader that is this node.
type self struct{ s *Server }

func (l self) Call(ctx context.Context, _ uint8, payload []byte) ([]byte, error) {
	return l.s.serveWrite(ctx, l.s.node, payload)
}
func (l self) WaitLeader(context.Context) error              { return nil }
func (l self) LeaderID() string                              { return l.s.node }
func (l self) ReadIndex(ctx context.Context) (uint64, error) { return l.s.fsm.State().Index, ctx.Err() }
func (l self) Age() time.Duration                            { return 0 }
func (l self) document(uint64) ([]byte, error)               { return []byte("{}"), nil }

// noMail throws mails away.
type noMail struct{}

func (noMail) Queue(string, string, string) {}

func newInProcess(f *testing.F) *inProcess {
	t := &lasting{TB: f}
	n := fsmtest.New(t)
	log := slog.New(slog.DiscardHandler)
	st := settings.Defaults()
	sdkAPI := sdk.New(sdk.Config{FSM: n.FSM, Views: n.Views, Identities: n.Identities, Usage: n.Usage, Fresh: func() bool { return true }, Log: log,
		Node: "n", Begin: newCommonHeaders("n").begin, ReadBudget: time.Millisecond})
	ofrepAPI := ofrep.New(ofrep.Config{FSM: n.FSM, Views: n.Views, Usage: n.Usage, ReadBudget: time.Millisecond})
	table, err := route.NewTable(slices.Concat(admin.Rows(), sdkAPI.Rows(), ofrepAPI.Rows()))
	require.NoError(t, err)
	s := newServer(st, log, table, "n")
	t.Cleanup(s.cancel)
	l := self{s}
	s.fsm, s.views, s.leader, s.reader.fsm, s.reader.reads = n.FSM, n.Views, l, n.FSM, l
	s.atLevel = func(context.Context, uint8) error { return nil }
	s.api = &admin.API{FSM: n.FSM, Writer: n.Writer, Env: &admin.Env{Log: log, Clock: time.Now, Options: st.Options(), Version: "test",
		Passwords: credential.NewPasswords(1), Throttle: admin.NewThrottle(time.Now), Lockout: admin.NewLockout(time.Now), Views: n.Views, Identities: n.Identities, Document: l.document,
		Mailer: noMail{}, SiteURL: "http://site"}}
	p := &inProcess{Server: s, end: t.close, node: n, token: "token"}
	n.Write(t, func(tx *fsm.Tx) error {
		user, org, _ := admin.EnsureAdmin(tx, "a@example.com", "no hash", "org")
		fsm.Tokens.Put(tx, fsm.Token{Key: p.token, User: user.ID})
		admin.CreateDemo(tx, org.ID)
		return nil
	})
	for e := range fsm.Environments.All(n.FSM.State()) {
		p.environment = e.APIKey
	}
	return p
}

// fuzzedHeaders are those whose values the server reads itself.
var fuzzedHeaders = []string{"Accept", headerConsistency, headerMinIndex, "Idempotency-Key", "Authorization", "X-Environment-Key", "If-None-Match",
	"If-Modified-Since", "Last-Event-ID", "Flagsmith-SDK-User-Agent", "Content-Type", "Origin", "Accept-Encoding", "X-Forwarded-For", "X-E2E-Test-Auth-Token"}

// target fills the parameters of a row's path: with what params has between slashes, else with something that is there.
func (p *inProcess) target(row *route.Row, params, query string) string {
	given := strings.Split(params, "/")
	var path strings.Builder
	for seg := range strings.SplitSeq(strings.TrimPrefix(row.Path, "/"), "/") {
		path.WriteByte('/')
		name, isParam := strings.CutPrefix(seg, "{")
		switch {
		case !isParam:
			path.WriteString(seg)
		case len(given) > 0 && given[0] != "":
			path.WriteString(url.PathEscape(given[0]))
		case strings.Contains(name, "key") && strings.HasPrefix(row.Path, "/api/v1/environments/"):
			path.WriteString(p.environment)
		default:
			path.WriteByte('1')
		}
		if isParam {
			given = given[min(1, len(given)):]
		}
	}
	if query != "" {
		path.WriteByte('?')
		path.WriteString(query)
	}
	return path.String()
}

// ask sends one request through the whole server.
func (p *inProcess) ask(row *route.Row, params, query, name, value string, body []byte) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.SetMethod(row.Method)
	ctx.Request.SetRequestURI(p.target(row, params, query))
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.Header.Set("Authorization", "Token "+p.token)
	ctx.Request.Header.Set("X-Environment-Key", p.environment)
	if name != "" {
		ctx.Request.Header.Set(name, value)
	}
	ctx.Request.SetBody(body)
	p.handle(ctx)
	return ctx
}

// judge demands what holds for every answer: no panic and nothing of our own fault, 503 only with Retry-After, JSON where the head says so, an
// error in Flagsmith's shape or OFREP's, and no place in the counts kept.
func (p *inProcess) judge(t *testing.T, row *route.Row, ctx *fasthttp.RequestCtx) {
	head, body, status := &ctx.Response.Header, ctx.Response.Body(), ctx.Response.StatusCode()
	require.Zero(t, p.metrics.panics.Load(), "%s", row.OperationID)
	require.Zero(t, p.inFlight.Load())
	require.True(t, status >= 200 && status < 500 || status == 503, "%s: %d %s", row.OperationID, status, body)
	if status == 503 {
		require.NotEmpty(t, head.Peek("Retry-After"), "%s", row.OperationID)
	}
	if len(body) == 0 || !bytes.HasPrefix(head.ContentType(), []byte("application/json")) {
		return
	}
	require.True(t, json.Valid(body), "%s: %s", row.OperationID, body)
	if status >= 400 {
		require.Contains(t, "[{\"", string(body[0]), "%s: %s", row.OperationID, body)
		require.Greater(t, len(body), 2, "%s: an error without a word", row.OperationID)
	}
}

// refresh is how many requests one state takes: writes that succeed make it larger.
const refresh = 500

// FuzzHTTP asks every operation of the admin API, the SDK API and OFREP anything.
func FuzzHTTP(f *testing.F) {
	p := newInProcess(f)
	for i, row := range p.table.Rows() {
		f.Add(uint16(i), "", "", uint8(0), "", []byte(`{"name":"n","identifier":"i","traits":[{"trait_key":"k","trait_value":1}],"enabled":true,"feature":1,"feature_state_value":"v"}`))
		if row.Method == "GET" {
			f.Add(uint16(i), "x", "page=1&page_size=2&search=a&environment=1", uint8(i), "application/json", []byte(nil))
		}
	}
	f.Add(uint16(0), "1/2/3", "format=json&page=-1", uint8(1), levelLinearizable, []byte(`[]`))
	f.Add(uint16(1), "%2f/%00", "a=%zz&&=", uint8(2), "e-1", []byte(`{`))
	f.Cleanup(func() { p.end() })
	asked := 0
	f.Fuzz(func(t *testing.T, row uint16, params, query string, header uint8, value string, body []byte) {
		if asked++; asked%refresh == 0 {
			p.end()
			p = newInProcess(f)
		}
		rows := p.table.Rows()
		r, name := rows[int(row)%len(rows)], ""
		if value != "" {
			name = fuzzedHeaders[int(header)%len(fuzzedHeaders)]
		}
		if name == headerMinIndex && fsm.ReadIndexToken(value, p.fsm.State().Genesis.Epoch) > p.fsm.State().Index {
			return // it would wait
		}
		p.judge(t, r, p.ask(r, params, query, name, value, body))
	})
}

// FuzzRequestBytes has fasthttp read a request from raw bytes, and the server answer what it could read: any path, method, query and head.
func FuzzRequestBytes(f *testing.F) {
	p := newInProcess(f)
	f.Add([]byte("GET /api/v1/flags/ HTTP/1.1\r\nHost: h\r\nX-Environment-Key: " + p.environment + "\r\n\r\n"))
	f.Add([]byte("POST /api/v1/identities/ HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"identifier\":\"i\"}"))
	f.Add([]byte("OPTIONS /api/v1/projects/ HTTP/1.1\r\nOrigin: x\r\nAccess-Control-Request-Method: GET\r\n\r\n"))
	f.Add([]byte("PUT /api/v1/%2e%2e//projects/1/?a=%&b HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"))
	f.Add([]byte("DELETE /x HTTP/1.1\r\nAuthorization: Token token\r\nFlagraft-Consistency: linearizable\r\n\r\n"))
	f.Cleanup(func() { p.end() })
	asked := 0
	f.Fuzz(func(t *testing.T, raw []byte) {
		if asked++; asked%refresh == 0 {
			p.end()
			p = newInProcess(f)
		}
		ctx := &fasthttp.RequestCtx{}
		in := bufio.NewReader(bytes.NewReader(raw))
		if ctx.Request.Header.Read(in) != nil {
			return
		}
		c := p.headerReceived(&ctx.Request.Header)
		if ctx.Request.ContinueReadBody(in, max(c.MaxRequestBodySize, 1<<20)) != nil {
			p.bodies.done(&ctx.Request.Header)
			return
		}
		if epoch := p.fsm.State().Genesis.Epoch; fsm.ReadIndexToken(string(ctx.Request.Header.Peek(headerMinIndex)), epoch) > p.fsm.State().Index {
			return // it would wait
		}
		p.handle(ctx)
		var m route.Match
		row := &route.Row{OperationID: "unmatched"}
		if p.table.Lookup(ctx.Method(), ctx.URI().PathOriginal(), &m) {
			row = m.Row
		}
		p.judge(t, row, ctx)
	})
}

// FuzzIndexToken: a token that was made reads as its index under its epoch and as none under another; any other text reads as none, or is
// such a token, zeros in front apart.
func FuzzIndexToken(f *testing.F) {
	f.Add("abc", uint64(7), "abc-7")
	f.Add("", uint64(0), "-1")
	f.Add("e", uint64(1<<63), "e-99999999999999999999")
	f.Fuzz(func(t *testing.T, epoch string, index uint64, token string) {
		if strings.Contains(epoch, "-") {
			return
		}
		made := string(fsm.AppendIndexToken(nil, epoch, index))
		require.Equal(t, index, fsm.ReadIndexToken(made, epoch))
		require.Zero(t, fsm.ReadIndexToken(made, epoch+"x"))
		if n := fsm.ReadIndexToken(token, epoch); n > 0 {
			digits, ok := strings.CutPrefix(token, epoch+"-")
			require.True(t, ok, "%q", token)
			require.Equal(t, strconv.FormatUint(n, 10), strings.TrimLeft(digits, "0"))
		}
	})
}

// FuzzLevel: whatever the headers say, a level that exists is read, or the answer is 400.
func FuzzLevel(f *testing.F) {
	for _, l := range []string{"", levelLocal, levelMinIndex, levelLinearizable, "LOCAL", "x"} {
		f.Add(l, "e-1", "application/json", "format=json")
		f.Add(l, "", "text/*;q=0.1, image/png", "a=b&format=xml")
	}
	f.Fuzz(func(t *testing.T, asked, minimum, accept, query string) {
		req := &route.Request{Query: query, Headers: []route.Header{{Name: headerConsistency, Value: asked}, {Name: headerMinIndex, Value: minimum}, {Name: "Accept", Value: accept}}}
		got, index, err := level(req, "e")
		if err != nil {
			require.Equal(t, 400, route.AsError(err).Status)
		} else {
			require.Contains(t, []string{"", levelLocal, levelMinIndex, levelLinearizable}, got)
			require.Equal(t, fsm.ReadIndexToken(minimum, "e"), index)
			require.False(t, asked == "" && index > 0 && got != levelMinIndex, "an index that is not waited for")
		}
		if err := acceptable(req); err != nil {
			require.Contains(t, []int{404, 406}, route.AsError(err).Status)
		}
	})
}
