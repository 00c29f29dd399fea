package destination

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// stallAfter is how long a server of storage may take nothing and send nothing.
	stallAfter = time.Minute
	// endings is how many times as long it may take over ending an upload, when it makes one object of thousands of parts: who gives
	// that up tells that a backup failed which is there.
	endings = 10
	// attempts is how often a request is sent at most: a schedule has its own way of trying again.
	attempts = 5
)

// patientTransport gives up a server that stands still, in the middle of a body, too. The client bounds only the wait for
// the head of an answer: everything else would last until the whole backup is given up, and others of the node with it.
func patientTransport(secure bool, stall time.Duration) (http.RoundTripper, error) {
	stall = cmp.Or(stall, stallAfter)
	usual, err := stallingTransport(secure, stall)
	if err != nil {
		return nil, err
	}
	ending, err := stallingTransport(secure, endings*stall)
	return &transports{usual: usual, ending: ending}, err
}

// transports sends what ends an upload by a transport with more patience.
type transports struct{ usual, ending http.RoundTripper }

func (t *transports) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
		return t.ending.RoundTrip(r)
	}
	return t.usual.RoundTrip(r)
}

func stallingTransport(secure bool, stall time.Duration) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dial := t.DialContext
	t.ResponseHeaderTimeout = stall
	t.IdleConnTimeout = stall / 2 // before it fails, so that no request gets one that is about to
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stalling{c, stall}, nil
	}
	return t, nil
}

// stalling is a connection that fails when nothing goes either way for a while. Whatever goes gives both ways time
// anew: who waits for an answer waits for as long as the request is on its way, too.
type stalling struct {
	net.Conn
	stall time.Duration
}

// moved begins the time anew.
func (s *stalling) moved() error { return s.SetDeadline(time.Now().Add(s.stall)) }

func (s *stalling) Read(b []byte) (int, error) {
	if err := s.moved(); err != nil {
		return 0, err
	}
	return s.Conn.Read(b)
}

func (s *stalling) Write(b []byte) (int, error) {
	if err := s.moved(); err != nil {
		return 0, err
	}
	n, err := s.Conn.Write(b)
	if err == nil {
		err = s.moved()
	}
	return n, err
}
