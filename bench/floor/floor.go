// Package floor is what an answer costs when nobody computes it: a bare fasthttp
// handler that writes the bytes of a recorded answer, with the settings of the real
// server. What flagraft takes beyond it is flagraft's own work.
package floor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/settings"
)

// Answer is an answer to be repeated.
type Answer struct {
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
	Body    []byte      `json:"body"`
}

// Capture asks a server once; request is a whole HTTP request.
func Capture(addr string, request []byte) (*Answer, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	if err := req.Read(newReader(request)); err != nil {
		return nil, fmt.Errorf("floor: request: %w", err)
	}
	req.SetHost(addr)
	if err := fasthttp.Do(req, resp); err != nil {
		return nil, fmt.Errorf("floor: capture: %w", err)
	}
	if s := resp.StatusCode(); (s < 200 || s > 299) && s != fasthttp.StatusNotModified {
		return nil, fmt.Errorf("floor: capture: status %d: %.300s", s, resp.Body())
	}
	a := &Answer{Method: string(req.Header.Method()), Path: string(req.URI().PathOriginal()), Status: resp.StatusCode(), Body: bytes.Clone(resp.Body())}
	for name, value := range resp.Header.All() {
		switch string(name) {
		case "Content-Length", "Date", "Connection": // written by fasthttp itself
		default:
			a.Headers = append(a.Headers, [2]string{string(name), string(value)})
		}
	}
	return a, nil
}

// Save writes answers to a file for [Load].
func Save(file string, answers ...*Answer) error {
	data, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// Load reads the file of [Save].
func Load(file string) (answers []*Answer, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return answers, json.Unmarshal(data, &answers)
}

// prepared is an answer ready to be copied.
type prepared struct {
	method, path []byte
	status       int
	header       fasthttp.ResponseHeader
	body         []byte
}

// Handler writes the answer recorded for the request's method and path. A request's
// body has been read by then, as fasthttp does before it calls a handler.
func Handler(answers []*Answer) fasthttp.RequestHandler {
	list := make([]*prepared, len(answers))
	for i, a := range answers {
		p := &prepared{method: []byte(a.Method), path: []byte(a.Path), status: a.Status, body: a.Body}
		p.header.SetNoDefaultContentType(true)
		for _, h := range a.Headers {
			if strings.EqualFold(h[0], "Content-Type") {
				p.header.SetContentType(h[1])
				continue
			}
			p.header.Set(h[0], h[1])
		}
		p.header.SetStatusCode(a.Status)
		list[i] = p
	}
	return func(ctx *fasthttp.RequestCtx) {
		for _, p := range list {
			if bytes.Equal(ctx.Method(), p.method) && bytes.Equal(ctx.Path(), p.path) {
				p.header.CopyTo(&ctx.Response.Header)
				ctx.Response.SetBodyRaw(p.body)
				return
			}
		}
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	}
}

// writeBuffer is that of package server.
const writeBuffer = 32 << 10

// Server has the settings of the real server on its defaults; a test compares them
// with its source. Time limits are those of fasthttp: the real server's connections keep to
// theirs by themselves.
func Server(h fasthttp.RequestHandler) *fasthttp.Server {
	s := settings.Defaults()
	timeouts := fasthttp.RequestConfig{WriteTimeout: s.WriteTimeout}
	return &fasthttp.Server{
		Handler:               h,
		HeaderReceived:        func(*fasthttp.RequestHeader) fasthttp.RequestConfig { return timeouts },
		Name:                  "floor",
		Concurrency:           s.MaxConnections,
		ReadTimeout:           min(s.HeaderTimeout, s.ReadTimeout),
		IdleTimeout:           s.IdleTimeout,
		ReadBufferSize:        s.MaxHeaderBytes,
		WriteBufferSize:       writeBuffer,
		MaxRequestBodySize:    s.MaxBodyBytes,
		CloseOnShutdown:       true,
		KeepHijackedConns:     true,
		NoDefaultServerHeader: true,

		DisablePreParseMultipartForm: true,
	}
}

// Serve serves recorded answers on a listener until it is closed.
func Serve(l net.Listener, answers []*Answer) error {
	if len(answers) == 0 {
		return errors.New("floor: no answers")
	}
	return Server(Handler(answers)).Serve(l)
}
