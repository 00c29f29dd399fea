package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
)

// A client asks for the same again and again, and the heads of its requests on a connection
// are the same, byte for byte, but for the length of a body. fasthttp has read such a head
// before and what it says is known, yet reading it anew is a tenth of an identity request.
// So the connection answers a request with a known head itself, with the handler that fasthttp
// calls. Every other request is fasthttp's, also one that did not come whole and alone.

// lanePatience is how many requests of a connection fasthttp reads before one's head is kept.
const lanePatience = 4

// lane is what a connection answers itself. All but the state is of the goroutine that reads.
type lane struct {
	handler  fasthttp.RequestHandler // nil: nothing
	longest  int                     // of bodies
	heard    bool                    // something was read
	between  bool                    // what is read next begins a request
	first    []byte                  // what was read when the request at hand began; nil: more was read since
	others   int                     // requests in a row that the known head was not of
	patience int                     // how many of them there may be
	known    *knownHead              // nil: none yet
	state    atomic.Int32
}

// The states of a lane: it is closed when no answer is given, or else after that.
const (
	laneFree int32 = iota
	laneAnswers
	laneLeaves // and its connection is to be closed then
	laneClosed
)

// begin says that an answer begins, unless the connection was closed.
func (l *lane) begin() bool { return l.state.CompareAndSwap(laneFree, laneAnswers) }

// end says that it was given; false: the connection is to be closed.
func (l *lane) end() bool { return l.state.CompareAndSwap(laneAnswers, laneFree) }

// leave says that the connection is to be closed; false: once the answer is given.
func (l *lane) leave() bool {
	for {
		switch l.state.Load() {
		case laneFree:
			if l.state.CompareAndSwap(laneFree, laneClosed) {
				return true
			}
		case laneAnswers:
			if l.state.CompareAndSwap(laneAnswers, laneLeaves) {
				return false
			}
		case laneLeaves:
			return false
		case laneClosed:
			return true
		}
	}
}

// learn keeps the head of the request at hand, one of a row, which fasthttp has read, if the ones before had others too.
func (l *lane) learn(ctx *fasthttp.RequestCtx, row *route.Row) {
	if l.known != nil && ctx == &l.known.ctx {
		return
	}
	if l.others++; l.others < l.patience || l.first == nil {
		return
	}
	l.others = 0
	if h := newKnownHead(l.first); h != nil {
		if row.Expect != nil {
			h.expect = row.Expect(ctx)
		}
		l.known = h
		l.patience *= 2 // who has many heads is not kept up with
	}
}

// takes answers what was read if it is a request with the known head.
func (c *conn) takes(read []byte) (bool, error) {
	l := &c.lane
	l.heard = l.heard || len(read) > 0
	if l.first = nil; !l.between || len(read) == 0 {
		return false, nil
	}
	body, known := l.known.bodyOf(read, l.longest)
	if !known {
		l.first = read
		return false, nil
	}
	return true, c.answer(body)
}

// answer answers a request with the known head.
func (c *conn) answer(body []byte) error {
	l := &c.lane
	if !l.begin() {
		return net.ErrClosed
	}
	l.others = 0
	c.busy()
	last, err := l.known.serve(c, l.handler, body)
	c.idle()
	if !l.end() {
		return net.ErrClosed
	}
	if last && err == nil {
		err = io.EOF
	}
	return err
}

// over closes the connection if that waited for an answer.
func (c *conn) over() {
	if c.lane.state.Load() == laneLeaves {
		_ = c.Conn.Close() // nobody knows it any more
	}
}

// Close closes the connection, after the answer if one is given.
func (c *conn) Close() error {
	if !c.lane.leave() {
		return nil
	}
	return c.Conn.Close()
}

// knownHead is a head as it was sent, and a request with what it says.
type knownHead struct {
	before, after []byte // the digits of the body's length
	sized         bool   // there are such digits
	ctx           fasthttp.RequestCtx
	head          *route.Head       // that the answer at hand begins with; nil: with its own
	expect        func(body []byte) // see [route.Row]; nil: nothing
}

// tellsID reports whether the answer to ctx gets the id of the request when it is written.
func (l *lane) tellsID(ctx *fasthttp.RequestCtx) bool {
	return l.known != nil && ctx == &l.known.ctx && l.known.head != nil && ctx.Response.StatusCode() == fasthttp.StatusOK
}

// TakeHead implements [route.HeadTaker].
func (c *conn) TakeHead(ctx *fasthttp.RequestCtx, h *route.Head) bool {
	k := c.lane.known
	if k == nil || ctx != &k.ctx {
		return false
	}
	k.head = h
	return true
}

var (
	headEnd    = []byte("\r\n\r\n")
	lengthName = regexp.MustCompile(`(?i)content-length`)
	lengthLine = regexp.MustCompile(`(?i)\r\ncontent-length: *([0-9]+)\r\n`)
)

// newKnownHead reads the head of a request, of which fasthttp has made one. It is nil for
// one with more to it than a body of a length that it tells.
func newKnownHead(request []byte) *knownHead {
	end := bytes.Index(request, headEnd)
	if end < 0 {
		return nil
	}
	head := bytes.Clone(request[:end+len(headEnd)])
	k := &knownHead{before: head}
	h, r := &k.ctx.Request.Header, bufio.NewReaderSize(bytes.NewReader(head), len(head))
	if h.Read(r) != nil || r.Buffered() > 0 || !h.IsHTTP11() || h.ConnectionClose() || // fasthttp takes "\n\n" for an end, too
		k.ctx.Request.MayContinue() || len(h.MultipartFormBoundary()) > 0 || len(h.Peek(fasthttp.HeaderTransferEncoding)) > 0 {
		return nil
	}
	lengths := len(lengthName.FindAllIndex(head, 2))
	if h.IsGet() && lengths == 0 {
		return k
	}
	digits := lengthLine.FindSubmatchIndex(head)
	if !h.IsPost() || lengths != 1 || digits == nil {
		return nil
	}
	k.before, k.after, k.sized = head[:digits[2]], head[digits[3]:], true
	return k
}

// bodyOf returns the body of a request that has the known head and is all that was read.
func (k *knownHead) bodyOf(request []byte, longest int) (body []byte, ok bool) {
	if k == nil {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(request, k.before)
	if !ok || !k.sized {
		return nil, ok && len(rest) == 0
	}
	length, digits := 0, 0
	for ; digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' && length <= longest; digits++ {
		length = 10*length + int(rest[digits]-'0')
	}
	body, ok = bytes.CutPrefix(rest[digits:], k.after)
	return body, ok && (digits == 1 || digits > 1 && rest[0] != '0') && length <= longest && length == len(body)
}

// fill gives the request a body.
func (k *knownHead) fill(body []byte) {
	if !k.sized {
		return
	}
	if k.ctx.Request.Header.ContentLength() != len(body) {
		k.ctx.Request.Header.SetContentLength(len(body))
	}
	k.ctx.Request.SetBodyRaw(body)
}

// laneWriter writes an answer.
type laneWriter struct {
	head []byte
	any  *bufio.Writer
}

var laneWriters = sync.Pool{New: func() any {
	return &laneWriter{head: make([]byte, 0, 4<<10), any: bufio.NewWriterSize(nil, 4<<10)}
}}

// write writes an answer as fasthttp does. An ordinary one is written from where its body lies.
func (w *laneWriter) write(c *conn, ctx *fasthttp.RequestCtx, prepared *route.Head) error {
	r := &ctx.Response
	if prepared != nil && r.StatusCode() == fasthttp.StatusNotModified {
		w.begin(ctx, prepared, 0)
		_, err := c.Write(w.head)
		return err
	}
	first, second, third, ok := bodyOf(r)
	if !ok {
		w.any.Reset(c)
		defer w.any.Reset(nil)
		if err := r.Write(w.any); err != nil {
			return err
		}
		return w.any.Flush()
	}
	if length := len(first) + len(second) + len(third); prepared == nil {
		r.Header.SetContentLength(length)
		w.head = r.Header.AppendBytes(w.head[:0])
	} else {
		w.begin(ctx, prepared, length)
	}
	w.head = append(w.head, first...)
	return c.writeAll(w.head, second, third)
}

// begin takes up a prepared head and what an answer adds to it.
func (w *laneWriter) begin(ctx *fasthttp.RequestCtx, prepared *route.Head, length int) {
	w.head = prepared.AppendTo(w.head[:0], ctx.ConnTime(), length)
	w.head = requestid.AppendLine(w.head, ctx)
	if ctx.Response.Header.ConnectionClose() {
		w.head = append(w.head, "Connection: close\r\n"...)
	}
	w.head = append(w.head, "\r\n"...)
}

// bodyOf gives the body of an ordinary answer, of which a long piece is not the first.
func bodyOf(r *fasthttp.Response) (first, second, third []byte, ok bool) {
	if r.StatusCode() != fasthttp.StatusOK || r.SkipBody {
		return nil, nil, nil, false
	}
	if !r.IsBodyStream() {
		return nil, r.Body(), nil, true
	}
	p, ok := r.BodyStream().(route.Pieces)
	if ok {
		first, second, third = p.Pieces()
	}
	return first, second, third, ok
}

// serve has the handler answer a request as fasthttp has, and writes the answer. last: it
// tells the client that there is no other on this connection.
func (k *knownHead) serve(c *conn, handler fasthttp.RequestHandler, body []byte) (last bool, err error) {
	if k.expect != nil {
		k.expect(body)
	}
	ctx := &k.ctx
	ctx.Init2(c, nil, false) // a number of its own, and the time
	k.fill(body)
	k.head = nil
	handler(ctx)
	if k.head == nil {
		ctx.Response.Header.SetServer(serverName)
	}
	last = ctx.Response.Header.ConnectionClose()
	w := laneWriters.Get().(*laneWriter)
	err = w.write(c, ctx, k.head)
	if cap(w.head) <= writeBuffer {
		laneWriters.Put(w)
	}
	ctx.Request.SetBodyRaw(nil) // it lies in fasthttp's buffer
	ctx.ResetUserValues()
	ctx.Response.Reset()
	return last, err
}
