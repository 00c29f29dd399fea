package route

import (
	"context"
	"net/url"
	"strings"
)

// Request is an HTTP request detached from its connection: it owns its memory, so it may be kept, queued and sent to the leader.
type Request struct {
	Method  string
	Path    string // as sent, percent-encoded, without the query
	Query   string // raw
	Scheme  string // "http" or "https"
	Host    string
	Remote  string // client address without port
	Headers []Header
	Body    []byte
	// Trace is the step of a trace that goes on with it, in the form of W3C's traceparent; "": none. Nodes give it to each other.
	Trace string
}

// Header is one header line.
type Header struct{ Name, Value string }

// Header gives the first value of a header, ignoring the case of its name, or "".
func (r *Request) Header(name string) string { return headerOf(r.Headers, name) }

func headerOf(headers []Header, name string) string {
	for i := range headers {
		if strings.EqualFold(headers[i].Name, name) {
			return headers[i].Value
		}
	}
	return ""
}

// Response is a complete answer, detached from the connection.
type Response struct {
	Status  int
	Headers []Header
	Body    []byte // nil: no body
}

// Header gives the first value of a header of the answer, or "".
func (r *Response) Header(name string) string { return headerOf(r.Headers, name) }

// Call is one request on its way through a typed row.
type Call struct {
	Context context.Context
	Row     *Row
	Request *Request
	// State is what the server attached: in the admin API the *admin.Ctx.
	State any

	params  []string
	query   url.Values
	body    Value
	bodyErr error
	parsed  bool
	headers []Header
	status  int
}

// NewCall makes the call of a matched request. The path parameters of m are decoded and copied.
func NewCall(ctx context.Context, m *Match, req *Request) *Call {
	c := &Call{Context: ctx, Row: m.Row, Request: req}
	for i := range m.Len() {
		c.params = append(c.params, m.Decoded(i))
	}
	return c
}

// Again gives the call for another pass: what was parsed is shared, what was answered is not.
func (c *Call) Again() *Call {
	again := *c
	again.State, again.headers, again.status = nil, nil, 0
	return &again
}

// Param gives a path parameter, percent-decoded, or "".
func (c *Call) Param(name string) string {
	for i, n := range c.Row.paramNames {
		if n == name && i < len(c.params) {
			return c.params[i]
		}
	}
	return ""
}

// Query gives the parsed query.
func (c *Call) Query() url.Values {
	if c.query == nil {
		c.query, _ = url.ParseQuery(c.Request.Query)
	}
	return c.query
}

// Body gives the parsed request body, whatever its format, or the refusal (400 or 415). An empty body is an empty object.
func (c *Call) Body() (Value, error) {
	if !c.parsed {
		c.body, c.bodyErr = ParseBody(c.Request.Header("Content-Type"), c.Request.Body)
		c.parsed = true
	}
	return c.body, c.bodyErr
}

// BodyMember gives one member of the body, unvalidated: for permissions that are scoped by the body and checked before validation.
// It is the missing Value when there is none, or the body cannot be read.
func (c *Call) BodyMember(name string) Value {
	b, err := c.Body()
	if err != nil {
		return Value{}
	}
	return b.Get(name)
}

// SetHeader adds a header to the answer.
func (c *Call) SetHeader(name, value string) {
	for i := range c.headers {
		if strings.EqualFold(c.headers[i].Name, name) {
			c.headers[i].Value = value
			return
		}
	}
	c.headers = append(c.headers, Header{name, value})
}

// SetStatus makes a success answer with another status than the row's (202 where it usually is 200).
func (c *Call) SetStatus(status int) { c.status = status }

// URL gives the absolute URL of a path on the host the client used.
func (c *Call) URL(path string) string {
	return c.Request.Scheme + "://" + c.Request.Host + path
}

// Answer makes the Response of a handler's result.
func (c *Call) Answer(out any, err error) Response {
	if err != nil {
		return ErrorResponse(err)
	}
	r := Response{Status: c.Row.SuccessStatus(), Headers: c.headers}
	if c.status != 0 {
		r.Status = c.status
	}
	switch v := out.(type) {
	case nil, Empty:
		return r
	case Blob:
		r.Body = v.Data
		r.Headers = append(r.Headers, Header{"Content-Type", v.ContentType})
		if v.Filename != "" {
			r.Headers = append(r.Headers, Header{"Content-Disposition", `attachment; filename="` + v.Filename + `"`})
		}
		return r
	}
	r.Headers = append(r.Headers, Header{"Content-Type", "application/json"})
	r.Body = c.Row.encoder.Bytes(out)
	return r
}

// Blob is an output that is not JSON.
type Blob struct {
	ContentType string
	Filename    string // "": shown, else offered as a download under this name
	Data        []byte
}
