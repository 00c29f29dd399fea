package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// remote is the API of a running node, as commands reach it.
type remote struct {
	url, token, tokenFile, ca string
}

// register declares the flags that say where the node is and who asks.
func (r *remote) register(flags *pflag.FlagSet) {
	flags.StringVar(&r.url, "url", "", "address of a node's API (FLAGRAFT_URL; default http://127.0.0.1:8000)")
	flags.StringVar(&r.token, "token", "", "account token of a superuser (FLAGRAFT_TOKEN)")
	flags.StringVar(&r.tokenFile, "token-file", "", "file that holds the token (FLAGRAFT_TOKEN_FILE)")
	flags.StringVar(&r.ca, "ca", "", "file of the certificate authorities to trust instead of the system's (FLAGRAFT_CA)")
}

// client makes the HTTP client. It has no overall timeout: what it carries may be large; connecting and the first byte of an answer have one.
func (r *remote) client() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 2 * time.Minute, TLSHandshakeTimeout: 10 * time.Second}
	file := cmp.Or(r.ca, os.Getenv("FLAGRAFT_CA"))
	if file == "" {
		return &http.Client{Transport: transport}, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

// credentials is the token. A flag beats a variable: one that is left over from another cluster must not be sent in place of the file that is named.
func (r *remote) credentials() (string, error) {
	token, file := r.token, r.tokenFile
	if token == "" && file == "" {
		token, file = os.Getenv("FLAGRAFT_TOKEN"), os.Getenv("FLAGRAFT_TOKEN_FILE")
	}
	switch {
	case token != "":
		return token, nil
	case file == "":
		return "", errors.New("no token: set FLAGRAFT_TOKEN, or use --token-file")
	}
	raw, err := os.ReadFile(file)
	return strings.TrimSpace(string(raw)), err
}

// header is one more header of a request; one without value is left out.
type header struct{ name, value string }

// do sends a request and returns an answer of status 2xx; its errors carry exit codes; the caller closes its body. body is nil, bytes that are sent as they are, or a value
// that is sent as JSON.
func (r *remote) do(ctx context.Context, method, path string, body any, headers ...header) (*http.Response, error) {
	var payload io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
	case []byte:
		payload, contentType = bytes.NewReader(b), "application/octet-stream"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(raw)
	}
	base := strings.TrimSuffix(cmp.Or(r.url, os.Getenv("FLAGRAFT_URL"), "http://127.0.0.1:8000"), "/")
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError("%q is no address of a node, such as http://127.0.0.1:8000", base)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, payload)
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	token, err := r.credentials()
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	req.Header.Set("Authorization", "Token "+token)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	for _, h := range headers {
		if h.value != "" {
			req.Header.Set(h.name, h.value)
		}
	}
	client, err := r.client()
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, &codedError{exitUnreachable, err}
	}
	if resp.StatusCode >= 300 {
		return nil, refusal(resp)
	}
	return resp, nil
}

// refused is an answer that is no success.
type refused struct {
	status int
	text   string
}

func (e *refused) Error() string { return fmt.Sprintf("the node answers %d: %s", e.status, e.text) }

// refusal makes the error of an answer and closes it.
func refusal(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }() // only read
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	text := strings.TrimSpace(string(raw))
	var detail struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(raw, &detail) == nil && detail.Detail != "" {
		text = detail.Detail
	}
	if resp.StatusCode == http.StatusNotFound && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		text = "it does not know this request; it runs an older version than this command, or the URL leads elsewhere" // not the page
	}
	err := &refused{resp.StatusCode, text}
	if resp.StatusCode == http.StatusServiceUnavailable {
		return &codedError{exitUnreachable, err}
	}
	return err
}

// call is do for answers that are JSON; out may be nil.
func (r *remote) call(ctx context.Context, method, path string, body, out any) error {
	resp, err := r.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
