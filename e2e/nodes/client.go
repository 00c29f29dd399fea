package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client speaks the HTTP API of one node.
type Client struct {
	Base   string // "http://host:port"
	Header http.Header
	HTTP   *http.Client
}

// Origin is where clients reach the API.
func (n *Node) Origin() string {
	if n.opts.TLS != nil {
		return "https://" + n.API
	}
	return "http://" + n.API
}

// Client returns a client of the node without credentials.
func (n *Node) Client() *Client {
	return &Client{Base: n.Origin(), Header: http.Header{"Accept": {"application/json"}}, HTTP: &http.Client{
		Timeout: 15 * time.Second, Transport: n.http,
	}}
}

// With returns a copy of c that sends one more header.
func (c *Client) With(name, value string) *Client {
	d := *c
	d.Header = c.Header.Clone()
	d.Header.Set(name, value)
	return &d
}

// Answer is a response with its body read.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Closed bool // the answer closed its connection
}

// JSON decodes the body into a generic value; numbers stay [json.Number].
func (a *Answer) JSON() (v any) {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// Get returns a member of a JSON object body, or nil.
func (a *Answer) Get(name string) any {
	m, _ := a.JSON().(map[string]any)
	return m[name]
}

// ID returns an integer member of a JSON object body, or 0.
func (a *Answer) ID(name string) int64 {
	n, _ := a.Get(name).(json.Number)
	i, _ := n.Int64()
	return i
}

// Text returns a string member of a JSON object body, or "".
func (a *Answer) Text(name string) string {
	s, _ := a.Get(name).(string)
	return s
}

// Do sends a request; body is nil, raw bytes, or a value sent as JSON.
func (c *Client) Do(ctx context.Context, method, path string, body any) (*Answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, r)
	if err != nil {
		return nil, err
	}
	req.Header = c.Header.Clone()
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	data, err := io.ReadAll(resp.Body)
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: data, Closed: resp.Close}, err
}

// Must is Do that fails unless the status is one of those wanted.
func (c *Client) Must(ctx context.Context, method, path string, body any, want ...int) (*Answer, error) {
	a, err := c.Do(ctx, method, path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for _, w := range want {
		if a.Status == w {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%s %s: %d %.500s", method, path, a.Status, a.Body)
}

// Login signs in as the first superuser and returns a client with the token.
func (c *Client) Login(ctx context.Context) (*Client, error) {
	a, err := c.Must(ctx, "POST", "/api/v1/auth/login/", map[string]string{"email": Email, "password": Password}, 200)
	if err != nil {
		return nil, err
	}
	return c.With("Authorization", "Token "+a.Text("key")), nil
}

// Project is an organisation, project and environment made for one test.
type Project struct {
	Admin                             *Client
	Organisation, ID, EnvironmentID   int64
	EnvironmentKey, ServerKey, Master string
}

// NewProject makes a project with one environment and its keys.
func (c *Client) NewProject(ctx context.Context, name string) (*Project, error) {
	admin, err := c.Login(ctx)
	if err != nil {
		return nil, err
	}
	p := &Project{Admin: admin}
	type step struct {
		path string
		body func() any
		keep func(*Answer)
	}
	for _, s := range []step{
		{"/api/v1/organisations/", func() any { return map[string]any{"name": name} },
			func(a *Answer) { p.Organisation = a.ID("id") }},
		{"/api/v1/projects/", func() any { return map[string]any{"name": name, "organisation": p.Organisation} },
			func(a *Answer) { p.ID = a.ID("id") }},
		{"/api/v1/environments/", func() any { return map[string]any{"name": "Production", "project": p.ID} },
			func(a *Answer) { p.EnvironmentKey, p.EnvironmentID = a.Text("api_key"), a.ID("id") }},
	} {
		a, err := admin.Must(ctx, "POST", s.path, s.body(), 201)
		if err != nil {
			return nil, err
		}
		s.keep(a)
	}
	a, err := admin.Must(ctx, "POST", "/api/v1/environments/"+p.EnvironmentKey+"/api-keys/", map[string]string{"name": "server"}, 201)
	if err != nil {
		return nil, err
	}
	p.ServerKey = a.Text("key")
	a, err = admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/organisations/%d/master-api-keys/", p.Organisation),
		map[string]any{"name": "key", "is_admin": true}, 201)
	if err != nil {
		return nil, err
	}
	p.Master = a.Text("key")
	return p, nil
}
