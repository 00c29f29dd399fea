package sdk

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkEvent writes one event to one of 1,000 clients that read along.
func BenchmarkEvent(b *testing.B) {
	h := newHouse(b)
	w := newStreamWriter(NewStreams(StreamsConfig{Views: h.Views}))
	b.Cleanup(w.streams.Stop)
	w.loop.Stop() // the benchmark is the writer
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	live, _ := h.Views.ByID(h.env.ID)
	var all []*stream
	for range 1000 {
		client, err := net.Dial("tcp", l.Addr().String())
		require.NoError(b, err)
		b.Cleanup(func() { _ = client.Close() })
		go func() { _, _ = io.Copy(io.Discard, client) }()
		c, err := l.Accept()
		require.NoError(b, err)
		s := &stream{live: live, key: clientKey, chunked: true}
		s.own(c)
		w.open(s)
		all = append(all, s)
	}
	b.Cleanup(func() {
		for _, s := range all {
			_ = s.conn.Close()
		}
	})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.event(all[i%len(all)])
	}
}
