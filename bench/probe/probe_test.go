package probe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNodes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"storage":{"stores":4,"entries":9,"store_nanos":2000000}}`))
	})
	page := "go_memstats_mallocs_total 100\ngo_memstats_alloc_bytes_total 1e3\ngo_cpu_classes_gc_total_cpu_seconds_total 1.5\nother{a=\"b\"} 7\nprocess_resident_memory_bytes 4096\n"
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) })
	s := httptest.NewServer(mux)
	defer s.Close()
	addr := strings.TrimPrefix(s.URL, "http://")
	one := Counters{Stores: 4, StoreTime: 2 * time.Millisecond, Entries: 9, Allocs: 100, AllocBytes: 1000, GC: 1500 * time.Millisecond, RSS: 4096}
	c, err := Nodes(context.Background(), addr, addr)
	require.NoError(t, err)
	require.Equal(t, one.Add(one), c)
	require.Equal(t, Counters{RSS: 4096}, one.Since(one))
	page = "go_memstats_mallocs_total 100\n"
	_, err = Nodes(context.Background(), addr)
	require.ErrorContains(t, err, "1 of 4")
}
