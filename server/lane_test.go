package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
)

// hotServer serves one hot row of each method that may be.
func hotServer(t testing.TB, f func(ctx *fasthttp.RequestCtx, m *route.Match)) *Server {
	t.Helper()
	var rows []route.Row
	for _, method := range []string{"GET", "POST"} {
		rows = append(rows, route.Row{Method: method, Path: "/hot/", OperationID: method, Kind: route.Read, Hot: true, Handler: route.Raw(f, nil, nil)})
	}
	table, err := route.NewTable(rows)
	require.NoError(t, err)
	st := settings.Defaults()
	st.APIAddr = "127.0.0.1:0"
	return newServer(st, slog.New(slog.DiscardHandler), table, "")
}

// serving is a client's connection to a server.
func serving(t testing.TB, s *Server) *laneClient {
	t.Helper()
	if s.http == nil {
		require.NoError(t, s.listen())
		t.Cleanup(func() { _ = s.stop(context.Background()) })
	}
	c, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &laneClient{c.(*net.TCPConn), bufio.NewReader(c)}
}

type laneClient struct {
	*net.TCPConn
	r *bufio.Reader
}

func (c *laneClient) send(t testing.TB, request string) {
	t.Helper()
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
}

func (c *laneClient) answer(t testing.TB) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(b)
}

// ask sends a request and returns the body of its answer.
func (c *laneClient) ask(t testing.TB, request string) string {
	t.Helper()
	c.send(t, request)
	_, b := c.answer(t)
	return b
}

// warm makes requests until their head is known.
func (c *laneClient) warm(t testing.TB) {
	t.Helper()
	for range 2 * lanePatience {
		c.ask(t, hotPost("x"))
	}
}

// byLane reports whether a connection answers a request itself.
func byLane(ctx *fasthttp.RequestCtx) bool { return ctx.Time().IsZero() }

// told is a handler that answers with what it was asked, and by whom.
func told(ctx *fasthttp.RequestCtx, _ *route.Match) {
	ctx.SetBodyString(fmt.Sprintf("%v %s %s %d %s %s", byLane(ctx), ctx.Method(), ctx.URI().FullURI(), ctx.Request.Header.ContentLength(),
		ctx.Request.Header.Peek("X-Extra"), ctx.PostBody()))
}

func hotPost(body string, headers ...string) string {
	return fmt.Sprintf("POST /hot/?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\nContent-Type: application/json\r\n%s\r\n%s", len(body), strings.Join(headers, ""), body)
}

const hotGet = "GET /hot/ HTTP/1.1\r\nHost: h\r\n\r\n"

func TestConnectionAnswersWhatItKnows(t *testing.T) {
	s := hotServer(t, told)
	c := serving(t, s)
	ids := map[string]bool{}
	for i := range 3 * lanePatience {
		body := strings.Repeat("y", 97*i)
		c.send(t, hotPost(body))
		resp, got := c.answer(t)
		// The first request is not read at a time at which one may begin, the next ones are too few.
		require.Equal(t, fmt.Sprintf("%v POST http://h/hot/?a=b %d  %s", i >= lanePatience, len(body), body), got)
		require.Equal(t, "flagraft", resp.Header.Get("Server"))
		require.NotEmpty(t, resp.Header.Get("Date"))
		ids[resp.Header.Get("X-Request-Id")] = true
	}
	require.Len(t, ids, 3*lanePatience, "each request has an id of its own")
	count, _, atMost := s.metrics.totals()
	require.EqualValues(t, 3*lanePatience, count)
	require.Equal(t, count, slices.Max(slices.Collect(maps.Values(atMost))), "their times are known")

	// Another head is not taken for it, nor is a body that is too long or too short, or comes later.
	require.Equal(t, "false POST http://h/hot/?a=b 1 e z", c.ask(t, hotPost("z", "X-Extra: e\r\n")))
	long := strings.Repeat("l", smallBody+1)
	require.Equal(t, fmt.Sprintf("false POST http://h/hot/?a=b %d  %s", len(long), long), c.ask(t, hotPost(long)))
	whole := hotPost("in two pieces")
	c.send(t, whole[:len(whole)-3])
	time.Sleep(50 * time.Millisecond)
	require.Equal(t, "false POST http://h/hot/?a=b 13  in two pieces", c.ask(t, whole[len(whole)-3:]))
	require.Equal(t, "false POST http://h/hot/?a=b 1 1 z", c.ask(t, hotPost("z", "X-Extra: 1\r\n")), "nor one that ends otherwise")
	inner := hotPost("z")
	c.send(t, hotPost(inner, "X-Extra: e\r\n")[:len(hotPost(inner, "X-Extra: e\r\n"))-len(inner)])
	time.Sleep(50 * time.Millisecond)
	require.Equal(t, fmt.Sprintf("false POST http://h/hot/?a=b %d e %s", len(inner), inner), c.ask(t, inner), "nor a body that looks like one")
	c.send(t, hotPost("1")+hotPost("22")+hotPost("333"))
	for _, body := range []string{"1", "22", "333"} {
		_, got := c.answer(t)
		require.Equal(t, fmt.Sprintf("false POST http://h/hot/?a=b %d  %s", len(body), body), got)
	}
	require.Equal(t, "true POST http://h/hot/?a=b 1  z", c.ask(t, hotPost("z")), "and it is still known")
}

// A row that reads ahead is asked once for a head, and then told each body that comes with it before the handler is.
func TestRowsExpectTheBodiesOfAKnownHead(t *testing.T) {
	events := make(chan string, 10*lanePatience)
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, _ *route.Match) { events <- "handled " + string(ctx.PostBody()) })
	for _, r := range s.table.Rows() {
		r.Expect = func(ctx *fasthttp.RequestCtx) func([]byte) {
			events <- "asked " + string(ctx.Request.Header.Peek("X-Extra"))
			return func(body []byte) { events <- "told " + string(body) }
		}
	}
	c := serving(t, s)
	for range lanePatience {
		c.ask(t, hotPost("x", "X-Extra: e\r\n"))
	}
	c.ask(t, hotPost("1", "X-Extra: e\r\n"))
	c.ask(t, hotPost("other"))
	c.ask(t, hotPost("2", "X-Extra: e\r\n"))
	want := append(slices.Repeat([]string{"handled x"}, lanePatience), "asked e", "told 1", "handled 1", "handled other", "told 2", "handled 2")
	require.Len(t, events, len(want))
	for _, event := range want {
		require.Equal(t, event, <-events)
	}
}

func TestConnectionLearnsAnotherHead(t *testing.T) {
	s := hotServer(t, told)
	c := serving(t, s)
	c.warm(t)
	for i := range 3 * lanePatience {
		require.Equal(t, fmt.Sprintf("%v GET http://h/hot/ 0  ", i >= 2*lanePatience), strings.Replace(c.ask(t, hotGet), "-2", "0", 1), i)
	}
	require.Contains(t, c.ask(t, hotPost("x")), "false", "one at a time")
	require.Contains(t, c.ask(t, hotGet), "true")
}

// What no head can say is left to fasthttp, however often it is asked.
func TestHeadsThatAreNotKept(t *testing.T) {
	s := hotServer(t, told)
	for name, request := range map[string]string{
		"HTTP/1.0":        "GET /hot/ HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
		"GET with a body": "GET /hot/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"in pieces":       "POST /hot/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"of two lengths":  "POST /hot/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nX-Of: content-length: 1\r\n\r\nx",
		"no hot row":      "GET /health HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		c := serving(t, s)
		for range 3 * lanePatience {
			c.send(t, request)
			_, got := c.answer(t)
			require.NotContains(t, got, "true", name)
		}
	}
	for name, request := range map[string]string{
		"HEAD":             "HEAD /hot/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"the last":         "GET /hot/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"for nobody":       "GET /hot/ HTTP/1.1\r\n\r\n",
		"asks before":      "POST /hot/ HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		"a form":           "POST /hot/ HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5\r\n\r\n--b--",
		"a line of spaces": "POST /hot/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1 \r\n\r\nx",
		"another number":   "POST /hot/ HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\nx",
		"ends otherwise":   "POST /hot/ HTTP/1.1\nHost: h\nContent-Length: 5\n\n1\r\n\r\n",
		"two":              "GET /hot/ HTTP/1.1\nHost: h\n\nGET /hot/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"three":            "GET /hot/ HTTP/1.1\r\nHost: h\n\nGET /hot/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"no end":           "POST /hot/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n",
	} {
		require.Nil(t, newKnownHead([]byte(request)), name)
	}
}

func TestAnswerIsGivenBeforeTheConnectionIsClosed(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) {
		if string(ctx.PostBody()) == "wait" {
			inside <- byLane(ctx)
			<-release
		}
		told(ctx, m)
	})
	c := serving(t, s)
	c.warm(t)
	c.send(t, hotPost("wait"))
	require.True(t, <-inside)
	s.connections.mu.Lock()
	for open := range s.connections.open {
		require.NoError(t, open.Close()) // as fasthttp does with one that rests, when it stops
		require.NoError(t, open.Close())
	}
	s.connections.mu.Unlock()
	release <- true
	_, got := c.answer(t)
	require.Equal(t, "true POST http://h/hot/?a=b 4  wait", got)
	_, err := c.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestRestingConnectionOfKnownHeadsIsClosedAtOnce(t *testing.T) {
	s := hotServer(t, told)
	c := serving(t, s)
	c.warm(t)
	s.connections.closeAll()
	_, err := c.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// An answer that its client does not take holds nobody up for ever.
func TestAnswerThatIsNotTakenIsCut(t *testing.T) {
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) {
		if string(ctx.PostBody()) == "large" {
			ctx.Response.SetBodyRaw(make([]byte, 64<<20)) // more than the sockets hold
			return
		}
		told(ctx, m)
	})
	s.settings.WriteTimeout = time.Hour
	c := serving(t, s)
	c.warm(t)
	c.send(t, hotPost("large"))
	_, err := c.r.ReadByte() // it is being written
	require.NoError(t, err)
	s.connections.closeAll()
	require.Eventually(t, func() bool { return s.connections.count() == 0 }, 10*time.Second, time.Millisecond)
}

func TestDrainingServerSaysSoOnKnownHeads(t *testing.T) {
	prepared := &fasthttp.ResponseHeader{}
	prepared.Set("X-Prepared", "yes")
	head := route.NewHead(prepared)
	for name, handle := range map[string]func(*fasthttp.RequestCtx, *route.Match){
		"own head": told,
		"prepared head": func(ctx *fasthttp.RequestCtx, m *route.Match) {
			if c, ok := ctx.Conn().(route.HeadTaker); ok && c.TakeHead(ctx, head) {
				ctx.SetBodyString("true")
				return
			}
			told(ctx, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := hotServer(t, handle)
			c := serving(t, s)
			c.warm(t)
			s.draining.Store(true)
			c.send(t, hotPost("x"))
			resp, got := c.answer(t)
			require.Contains(t, got, "true")
			require.True(t, resp.Close)
			require.NotEmpty(t, resp.Header.Get("X-Request-Id"))
			require.Equal(t, name == "prepared head", resp.Header.Get("X-Prepared") == "yes")
			_, err := c.r.ReadByte()
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

// Who says with its request that it was the last gets the answer, and its end.
func TestEndThatComesWithARequestIsSeen(t *testing.T) {
	t.Parallel()
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) {
		if string(ctx.PostBody()) == "last" {
			time.Sleep(50 * time.Millisecond) // so that the end is there before the answer
		}
		told(ctx, m)
	})
	s.settings.IdleTimeout = time.Hour
	c := serving(t, s)
	c.warm(t)
	c.send(t, hotPost("last"))
	require.NoError(t, c.CloseWrite())
	_, got := c.answer(t)
	require.Contains(t, got, "true")
	_, err := c.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestRestingConnectionOfKnownHeadsKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	s := hotServer(t, told)
	s.settings.IdleTimeout = 3 * time.Second // beyond what is waited for at first
	c := serving(t, s)
	c.warm(t)
	time.Sleep(2500 * time.Millisecond) // the first wait is over
	require.Contains(t, c.ask(t, hotPost("x")), "true")
	start := time.Now()
	_, err := c.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.GreaterOrEqual(t, time.Since(start), s.settings.IdleTimeout)
}

func TestPanicOnAKnownHeadIsA500(t *testing.T) {
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) {
		if string(ctx.PostBody()) == "panic" {
			panic("boom")
		}
		told(ctx, m)
	})
	c := serving(t, s)
	c.warm(t)
	c.send(t, hotPost("panic"))
	resp, _ := c.answer(t)
	require.Equal(t, 500, resp.StatusCode)
	require.Contains(t, c.ask(t, hotPost("x")), "true")
}

// Nothing of one request is there in the next.
func TestKnownHeadsStartAfresh(t *testing.T) {
	n := 0
	s := hotServer(t, func(ctx *fasthttp.RequestCtx, m *route.Match) {
		assert.Nil(t, ctx.UserValue("was")) // this is not the test's goroutine
		ctx.SetUserValue("was", 1)
		if n++; n%3 == 2 {
			return
		}
		if n%3 == 0 {
			ctx.Response.Header.Set("X-Even", "yes")
			ctx.SetStatusCode(201)
			ctx.Response.SetBodyStream(strings.NewReader("a stream"), -1)
			return
		}
		assert.Equal(t, 200, ctx.Response.StatusCode())
		told(ctx, m)
	})
	c := serving(t, s)
	for i := range 6 * lanePatience {
		c.send(t, hotPost("x"))
		resp, got := c.answer(t)
		if i%3 != 2 {
			require.Equal(t, 200, resp.StatusCode)
			require.Empty(t, resp.Header.Get("X-Even"))
			require.Equal(t, i%3 == 1, got == "")
			continue
		}
		require.Equal(t, 201, resp.StatusCode)
		require.Equal(t, "yes", resp.Header.Get("X-Even"))
		require.Equal(t, "a stream", got)
	}
}

// pieces is a body in three places.
type pieces struct {
	*strings.Reader
	parts [3]string
}

func (p pieces) Pieces() (a, b, c []byte) {
	return []byte(p.parts[0]), []byte(p.parts[1]), []byte(p.parts[2])
}

// Bodies of every kind and size are written alike by fasthttp and by the connection.
func TestBodiesAreWrittenAlike(t *testing.T) {
	for _, n := range []int{0, 1, 5000, 40 << 10, 3 << 20} {
		for _, kind := range []string{"raw", "pieces", "stream", "none"} {
			var lanes atomic.Int32
			s := hotServer(t, func(ctx *fasthttp.RequestCtx, _ *route.Match) {
				if byLane(ctx) {
					lanes.Add(1)
				}
				part := strings.Repeat("p", n)
				ctx.Response.Header.Set("X-Own", "own")
				switch kind {
				case "raw":
					ctx.Response.SetBodyRaw([]byte(part))
				case "pieces":
					p := [3]string{part + "1", part + "2", part + "3"}
					whole := strings.Join(p[:], "")
					ctx.Response.SetBodyStream(pieces{strings.NewReader(whole), p}, len(whole))
				case "stream":
					ctx.Response.SetBodyStream(strings.NewReader(part), -1)
				case "none":
					ctx.SetStatusCode(304)
					ctx.Response.SetBodyRaw([]byte(part)) // is not sent
				}
			})
			c := serving(t, s)
			var first string
			for i := range 2 * lanePatience {
				c.send(t, hotPost("x"))
				resp, got := c.answer(t)
				for _, name := range []string{"Date", "X-Request-Id"} {
					resp.Header.Del(name)
				}
				got = fmt.Sprint(resp.Status, resp.Header, resp.ContentLength, resp.TransferEncoding, got)
				if i == 0 {
					first = got
				}
				require.Equal(t, first, got)
			}
			require.EqualValues(t, lanePatience, lanes.Load())
		}
	}
}

func TestBodiesOfAKnownHead(t *testing.T) {
	k := newKnownHead([]byte(hotPost("x")))
	for n := range 20 {
		request := hotPost(strings.Repeat("y", n))
		_, ok := k.bodyOf([]byte(request), 10)
		require.Equal(t, n <= 10, ok, n)
		_, ok = k.bodyOf([]byte(request+"y"), 10)
		require.False(t, ok, "more than a request")
		_, ok = k.bodyOf([]byte(strings.Replace(request, "Length: ", "Length: 0", 1)), 10)
		require.False(t, ok, "not as clients write it")
		_, ok = k.bodyOf([]byte(strings.Replace(request, "json", "yaml", 1)), 10)
		require.False(t, ok, "another type")
	}
	_, ok := k.bodyOf([]byte(strings.Replace(hotPost(""), "Length: 0", "Length: ", 1)), 10)
	require.False(t, ok)
	var none *knownHead
	_, ok = none.bodyOf([]byte(hotPost("")), 10)
	require.False(t, ok)
}

// FuzzKnownHead compares what is known of a request with what fasthttp reads of it.
func FuzzKnownHead(f *testing.F) {
	for _, request := range []string{hotGet, hotPost(""), hotPost("x"), hotPost("{}", "X-Extra: e\r\n", "Connection: keep-alive\r\n"),
		"POST / HTTP/1.1\r\nHost: h\r\ncontent-length:003\r\n\r\nabc"} {
		f.Add([]byte(request), []byte(strings.Replace(request, "x", "12", 1)))
		f.Add([]byte(request), []byte(request))
		f.Add([]byte(strings.ReplaceAll(request, "\r\n", "\n")+request), []byte(request))
	}
	f.Fuzz(func(t *testing.T, learned, request []byte) {
		k := newKnownHead(learned)
		body, ok := k.bodyOf(request, 1000)
		if !ok {
			return
		}
		k.fill(body)
		var read fasthttp.Request
		r := bufio.NewReaderSize(bytes.NewReader(request), len(request)+16)
		require.NoError(t, read.ReadLimitBody(r, 1000))
		require.Zero(t, r.Buffered(), "there is nothing after it")
		require.Equal(t, string(read.Body()), string(k.ctx.Request.Body()))
		require.Equal(t, read.Header.ContentLength(), k.ctx.Request.Header.ContentLength())
		require.Equal(t, read.Header.String(), k.ctx.Request.Header.String())
	})
}
