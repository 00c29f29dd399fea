package floor

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

func listen(t *testing.T, s *fasthttp.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown())
		_ = l.Close() // Shutdown does nothing when Serve has not begun, and Serve would accept for good
		require.NoError(t, <-done)
	})
	return l.Addr().String()
}

// raw sends a request and returns the answer's bytes without its date.
func raw(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(request))
	require.NoError(t, err)
	var seen strings.Builder
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &seen)), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return strings.Replace(seen.String(), resp.Header.Get("Date"), "", 1)
}

// The floor must write the same bytes: the same headers in number and size.
func TestFloorRepeatsTheAnswer(t *testing.T) {
	real := listen(t, Server(func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.Response.Header.Set("X-Frame-Options", "DENY")
		ctx.Response.Header.Set("Etag", `"abc"`)
		ctx.SetBodyString(`[{"id":1}]`)
	}))
	const get = "GET /api/v1/flags/ HTTP/1.1\r\nHost: x\r\n\r\n"
	const post = "POST /api/v1/identities/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
	a, err := Capture(real, []byte(get))
	require.NoError(t, err)
	b, err := Capture(real, []byte(post))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "answers")
	require.NoError(t, Save(file, a, b))
	answers, err := Load(file)
	require.NoError(t, err)
	floor := listen(t, Server(Handler(answers)))
	for _, request := range []string{get, post} {
		require.Equal(t, raw(t, real, request), raw(t, floor, request))
	}
	require.Contains(t, raw(t, floor, "GET /other HTTP/1.1\r\nHost: x\r\n\r\n"), " 404 ")
}

func TestCaptureWantsSuccess(t *testing.T) {
	addr := listen(t, Server(func(ctx *fasthttp.RequestCtx) { ctx.Error("key", 403) }))
	_, err := Capture(addr, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.ErrorContains(t, err, "status 403")
	require.Error(t, Serve(nil, nil))
}

// serverLiteral is the fasthttp.Server that a source file makes, by field.
func serverLiteral(t *testing.T, file string) (fields map[string]string, constants map[string]string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	fields, constants = map[string]string{}, map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if n.Type != nil && types.ExprString(n.Type) == "fasthttp.Server" {
				for _, e := range n.Elts {
					kv := e.(*ast.KeyValueExpr)
					value := types.ExprString(kv.Value)
					fields[types.ExprString(kv.Key)] = value[strings.LastIndexByte(value, '.')+1:]
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					constants[name.Name] = types.ExprString(n.Values[i])
				}
			}
		}
		return true
	})
	return fields, constants
}

// What the real server is given, the floor is given too: a difference would be
// measured as flagraft's.
func TestFloorHasTheServersSettings(t *testing.T) {
	theirs, theirConstants := serverLiteral(t, "../../server/http.go")
	ours, ourConstants := serverLiteral(t, "floor.go")
	require.NotEmpty(t, theirs)
	// The bound on connections is out of reach of any measurement, and counting
	// them (ConnState) is flagraft's own work. So is keeping to the time limits, which a
	// bare server leaves to fasthttp.
	require.NotContains(t, theirs, "ReadTimeout")
	for _, own := range []string{"Handler", "HeaderReceived", "Name", "ErrorHandler", "Logger", "Concurrency", "ConnState", "ReadTimeout", "IdleTimeout"} {
		delete(theirs, own)
		delete(ours, own)
	}
	require.Equal(t, theirs, ours)
	require.NotEmpty(t, ourConstants["writeBuffer"])
	require.Equal(t, theirConstants["writeBuffer"], ourConstants["writeBuffer"])
}
