package route

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// decodeAs sends a body through the decoder of In, as the given method.
func decodeAs[In any](t testing.TB, method, contentType, body string) (In, error) {
	t.Helper()
	s, err := CompileSchema(typeOf[In]())
	require.NoError(t, err)
	c := newTestCall(method, "/", contentType, body)
	in, err := s.Decode(c)
	if err != nil {
		var zero In
		return zero, err
	}
	return *in.(*In), nil
}

func newTestCall(method, url, contentType, body string) *Call {
	req := &Request{Method: method, Path: url, Scheme: "http", Host: "flags.example", Body: []byte(body),
		Headers: []Header{{"Content-Type", contentType}}}
	for i := range url {
		if url[i] == '?' {
			req.Path, req.Query = url[:i], url[i+1:]
		}
	}
	return &Call{Context: context.Background(), Row: &Row{Method: method}, Request: req}
}

// bodyOf is the body an error answers with.
func bodyOf(err error) string {
	if err == nil {
		return ""
	}
	return string(ErrorResponse(err).Body)
}
