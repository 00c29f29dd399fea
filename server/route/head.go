package route

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Head is the headers of many answers with status 200 or 304, as fasthttp has them and as they are sent.
type Head struct {
	*fasthttp.ResponseHeader
	beforeDate, beforeLength, behind []byte // what is sent, but for the two values; a 304 tells no length
}

// HeadTaker is a connection that can send a head as it is, so that it is neither copied nor written out for each answer.
type HeadTaker interface {
	// TakeHead has the answer to ctx begin with h, and continue with the id of the request. No other header may be set
	// in it. False: the connection does not answer this request itself.
	TakeHead(ctx *fasthttp.RequestCtx, h *Head) bool
}

var (
	dateLine   = []byte("\r\nDate: ")
	lengthLine = []byte("\r\nContent-Length: ")
	lineEnd    = []byte("\r\n")
	headEnd    = []byte("\r\n\r\n")
)

// NewHead prepares headers, which must not change any more.
func NewHead(h *fasthttp.ResponseHeader) *Head {
	p := &Head{ResponseHeader: h}
	var sized fasthttp.ResponseHeader // h has no length: an answer without a body must not get one
	h.CopyTo(&sized)
	sized.SetContentLength(0)
	sent := sized.AppendBytes(nil)
	p.beforeDate, sent = cutValue(sent, dateLine)
	if p.HasBody() {
		p.beforeLength, sent = cutValue(sent, lengthLine)
	}
	p.behind = bytes.TrimSuffix(sent, headEnd)
	return p
}

// HasBody is false for a 304.
func (p *Head) HasBody() bool { return p.StatusCode() != fasthttp.StatusNotModified }

// cutValue cuts a header's value out: before ends where it began, after begins with the end of its line.
func cutValue(sent, name []byte) (before, after []byte) {
	at := bytes.Index(sent, name) + len(name)
	return sent[:at], sent[at+bytes.Index(sent[at:], lineEnd):]
}

// AppendTo appends the head of an answer that is given now, with a body of length bytes if it has one, without the end of its last line.
func (p *Head) AppendTo(dst []byte, now time.Time, length int) []byte {
	dst = append(dst, p.beforeDate...)
	dst = append(dst, dateOf(now)...)
	if p.HasBody() {
		dst = append(dst, p.beforeLength...)
		dst = strconv.AppendInt(dst, int64(length), 10)
	}
	return append(dst, p.behind...)
}

// date is a second as the Date header tells it.
type date struct {
	second int64
	text   []byte
}

var lastDate atomic.Pointer[date]

func dateOf(now time.Time) []byte {
	d := lastDate.Load()
	if second := now.Unix(); d == nil || d.second != second {
		d = &date{second, fasthttp.AppendHTTPDate(nil, now)}
		lastDate.Store(d)
	}
	return d.text
}
