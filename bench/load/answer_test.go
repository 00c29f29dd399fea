package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseHead(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want answer
		ok   bool
		bad  bool
	}{
		"plain":        {"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nA: b\r\n\r\nrest", answer{status: 200, head: 45, body: 12}, true, false},
		"lower case":   {"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", answer{status: 404, head: 45}, true, false},
		"no body":      {"HTTP/1.1 204 No Content\r\n\r\n", answer{status: 204, head: 27}, true, false},
		"not stored":   {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nFlagraft-Traits-Persisted: false\r\n\r\n", answer{status: 200, head: 72, body: 1, unpersisted: true}, true, false},
		"incomplete":   {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n", answer{}, false, false},
		"no length":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", answer{}, false, true},
		"other":        {"SMTP ready to serve\r\n\r\n", answer{}, false, true},
		"short":        {"\r\n\r\n", answer{}, false, true},
		"length words": {"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n", answer{}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok, err := parseHead([]byte(c.in))
			require.Equal(t, c.bad, err != nil, "%v", err)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.want, a)
			}
		})
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok, err := parseHead(b)
		if ok && (err != nil || a.head > len(b) || a.body < 0) {
			t.Fatalf("%+v %v of %q", a, err, b)
		}
	})
}
