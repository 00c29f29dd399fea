package server

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheOldestConnectionGoes: with connections that nobody uses, the management port must not take every descriptor of the process.
func TestTheOldestConnectionGoes(t *testing.T) {
	s := newest{most: 2, since: map[net.Conn]time.Time{}}
	var here, there [4]net.Conn
	for i := range here {
		here[i], there[i] = net.Pipe()
		defer here[i].Close()
	}
	s.changed(here[0], http.StateNew)
	s.changed(here[1], http.StateNew)
	s.since[here[1]] = s.since[here[1]].Add(-time.Hour)
	s.changed(here[2], http.StateNew)
	_, err := there[1].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, s.since, 2)
	s.changed(here[1], http.StateClosed)
	s.changed(here[0], http.StateClosed)
	s.changed(here[3], http.StateNew) // there is room again
	require.Len(t, s.since, 2)
}
