package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/route"
)

func TestTrustedProxies(t *testing.T) {
	p, err := parseProxies([]string{"10.0.0.0/8", " 192.0.2.1 ", "::1"})
	require.NoError(t, err)
	for _, c := range []struct{ peer, forwarded, remote, scheme string }{
		{"10.1.2.3", "203.0.113.7", "203.0.113.7", "https"},
		{"::1", "203.0.113.7", "203.0.113.7", "https"},
		{"::ffff:10.1.2.3", "203.0.113.7", "203.0.113.7", "https"},
		{"10.1.2.3", "198.51.100.9, 203.0.113.7, 192.0.2.1", "203.0.113.7", "https"}, // the first was sent by the client
		{"10.1.2.3", "10.9.9.9", "10.9.9.9", "https"},
		{"10.1.2.3", "", "10.1.2.3", "https"},
		{"10.1.2.3", "unknown", "10.1.2.3", "https"},
		{"10.1.2.3", "203.0.113.7:51234", "203.0.113.7", "https"},
		{"10.1.2.3", "198.51.100.9, [2001:db8::7]:51234, 10.9.9.9:80", "2001:db8::7", "https"},
		{"10.1.2.3", "[2001:db8::7]", "2001:db8::7", "https"},
		{"10.1.2.3", "nonsense, 203.0.113.7", "203.0.113.7", "https"},
		{"192.0.2.2", "203.0.113.7", "192.0.2.2", "http"}, // not a proxy of ours
		{"203.0.113.9", "10.0.0.1", "203.0.113.9", "http"},
	} {
		r := &route.Request{Remote: c.peer, Scheme: "http", Headers: []route.Header{{Name: "X-Forwarded-Proto", Value: "https"}}}
		if c.forwarded != "" {
			r.Headers = append(r.Headers, route.Header{Name: "X-Forwarded-For", Value: c.forwarded})
		}
		p.resolve(r)
		require.Equal(t, []string{c.remote, c.scheme}, []string{r.Remote, r.Scheme}, "%s %s", c.peer, c.forwarded)
	}
	twice := &route.Request{Remote: "10.1.2.3", Headers: []route.Header{{Name: "x-forwarded-for", Value: "198.51.100.9"}, {Name: "X-Forwarded-For", Value: "203.0.113.7"},
		{Name: "X-Forwarded-Proto", Value: "http"}, {Name: "X-Forwarded-Proto", Value: "https"}}}
	p.resolve(twice)
	require.Equal(t, []string{"203.0.113.7", "https"}, []string{twice.Remote, twice.Scheme}, "the proxy's are the last")
	for _, bad := range []string{"", "proxy.example.com", "10.0.0.0/33"} {
		_, err := parseProxies([]string{bad})
		require.ErrorContains(t, err, "trusted-proxies", bad)
	}
}
