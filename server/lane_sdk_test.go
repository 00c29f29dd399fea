package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

// told is an answer without what differs from request to request.
func told(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode == http.StatusNotModified {
		require.Empty(t, resp.Header.Values("Content-Length"))
	}
	for _, name := range []string{"Date", "X-Request-Id", "Flagraft-Index", "Flagraft-Age"} {
		if values := resp.Header.Values(name); len(values) > 0 && values[0] != "own" {
			resp.Header.Set(name, fmt.Sprint(len(values), " of them"))
		}
	}
	return fmt.Sprintln(resp.Status, resp.Header, resp.ContentLength, string(b))
}

// The SDK answers the same on a connection that answers known heads itself as on one that is new.
func TestSDKAnswersTheSameOnBusyConnections(t *testing.T) {
	n := servertest.Start(t)
	project(t, n)
	connect := func() (net.Conn, *bufio.Reader) {
		c := dial(t, n)
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, r *bufio.Reader, request string) string {
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		return told(t, r)
	}
	const head = " HTTP/1.1\r\nHost: h\r\nX-Environment-Key: environment\r\nAccept-Encoding: gzip\r\n"
	flags := func(more string) string { return "GET /api/v1/flags/" + head + more + "\r\n" }
	post := func(more, body string) string {
		return fmt.Sprintf("POST /api/v1/identities/%s%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", head, more, len(body), body)
	}
	for name, requests := range map[string][]string{
		"flags":                   {flags("")},
		"of browsers":             {flags("Origin: https://app.example\r\n")},
		"with an id":              {flags("X-Request-ID: own\r\n")},
		"conditional":             {flags("If-None-Match: *\r\n"), flags("If-None-Match: \"old\"\r\n")},
		"conditional of browsers": {flags("Origin: https://app.example\r\nIf-None-Match: *\r\n")},
		"identities": {
			post("", `{"identifier":"a","traits":[{"trait_key":"k","trait_value":1}]}`),
			post("", `{"identifier":"a","traits":[{"trait_key":"k","trait_value":"two"}]}`),
			post("", `{"identifier":"b","traits":[]}`),
			post("", `{"identifier":"c","transient":true,"traits":[{"trait_key":"k","trait_value":null}]}`),
			post("", `{"identifier":"`+strings.Repeat("x", 3000)+`"}`),
			post("", `{"identifier":`),
			post("", "\x00\xff"),
			post("", `[]`),
		},
		"identities of browsers": {post("Origin: https://app.example\r\n", `{"identifier":"d","traits":[{"trait_key":"k","trait_value":true}]}`)},
		"without a key":          {strings.Replace(flags(""), "environment\r", "none\r", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			busy, r := connect()
			for range 10 {
				ask(busy, r, requests[0])
			}
			for _, request := range requests {
				fresh, fr := connect()
				ask(fresh, fr, request) // what it stores is stored
				got := ask(busy, r, request)
				require.Equal(t, ask(fresh, fr, request), got, request)
			}
		})
	}
}
