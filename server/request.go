package server

import (
	"net"

	"github.com/fxamacker/cbor/v2"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
)

// detach copies a request off its connection.
func (s *Server) detach(ctx *fasthttp.RequestCtx) *route.Request {
	r := &route.Request{
		Method: string(ctx.Method()),
		Path:   string(ctx.URI().PathOriginal()),
		Query:  string(ctx.URI().QueryString()),
		Scheme: "http",
		Host:   string(ctx.Host()),
		Remote: remoteHost(ctx.RemoteAddr()),
		Body:   append([]byte(nil), ctx.PostBody()...),
	}
	if ctx.IsTLS() {
		r.Scheme = "https"
	}
	if r.Method == fasthttp.MethodHead {
		r.Method = fasthttp.MethodGet
	}
	r.Headers = append(r.Headers, route.Header{Name: requestid.Header, Value: requestid.Of(ctx)}) // before one that may not be sane
	for k, v := range ctx.Request.Header.All() {
		r.Headers = append(r.Headers, route.Header{Name: string(k), Value: string(v)})
	}
	s.proxies.resolve(r)
	return r
}

func remoteHost(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// The forms in which requests and answers travel between nodes. Members may be added, never changed.
type (
	wireHeader struct {
		_     struct{} `cbor:",toarray"`
		Name  string
		Value string
	}
	wireRequest struct {
		Method  string       `cbor:"1,keyasint"`
		Path    string       `cbor:"2,keyasint"`
		Query   string       `cbor:"3,keyasint,omitempty"`
		Scheme  string       `cbor:"4,keyasint"`
		Host    string       `cbor:"5,keyasint"`
		Remote  string       `cbor:"6,keyasint"`
		Headers []wireHeader `cbor:"7,keyasint"`
		Body    []byte       `cbor:"8,keyasint,omitempty"`
		Trace   string       `cbor:"9,keyasint,omitempty"`
	}
	wireAnswer struct {
		Status       int          `cbor:"1,keyasint"`
		Headers      []wireHeader `cbor:"2,keyasint"`
		Body         []byte       `cbor:"3,keyasint"` // null: no body
		Index        uint64       `cbor:"4,keyasint,omitempty"`
		Environments []uint64     `cbor:"5,keyasint,omitempty"`
	}
)

func toWire(hs []route.Header) []wireHeader {
	out := make([]wireHeader, len(hs))
	for i, h := range hs {
		out[i].Name, out[i].Value = h.Name, h.Value
	}
	return out
}

func fromWire(hs []wireHeader) []route.Header {
	out := make([]route.Header, len(hs))
	for i, h := range hs {
		out[i] = route.Header{Name: h.Name, Value: h.Value}
	}
	return out
}

// wireMode reads them. Queries and headers are bytes that their sender chose, UTF-8 or not: they travel as they came and are judged by who
// reads them.
var wireMode, _ = cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid}.DecMode() // fixed options that fit together

func encodeRequest(r *route.Request) ([]byte, error) {
	return cbor.Marshal(wireRequest{Method: r.Method, Path: r.Path, Query: r.Query, Scheme: r.Scheme, Host: r.Host, Remote: r.Remote,
		Headers: toWire(r.Headers), Body: r.Body, Trace: r.Trace})
}

func decodeRequest(data []byte) (*route.Request, error) {
	var w wireRequest
	if err := wireMode.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	return &route.Request{Method: w.Method, Path: w.Path, Query: w.Query, Scheme: w.Scheme, Host: w.Host, Remote: w.Remote,
		Headers: fromWire(w.Headers), Body: w.Body, Trace: w.Trace}, nil
}

func encodeAnswer(r route.Response, w fsm.Written) ([]byte, error) {
	return cbor.Marshal(wireAnswer{Status: r.Status, Headers: toWire(r.Headers), Body: r.Body, Index: w.Index, Environments: w.Environments})
}

func decodeAnswer(data []byte) (route.Response, fsm.Written, error) {
	var w wireAnswer
	if err := wireMode.Unmarshal(data, &w); err != nil {
		return route.Response{}, fsm.Written{}, err
	}
	return route.Response{Status: w.Status, Headers: fromWire(w.Headers), Body: w.Body}, fsm.Written{Index: w.Index, Environments: w.Environments}, nil
}
