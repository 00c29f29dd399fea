package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/tally"
)

// How busy each node is, for charts: whoever asks twice knows what happened in between.

// nodeLoad is what a node tells of itself. Totals begin with its process; their differences are rates.
type nodeLoad struct {
	ID            string    `json:"id"`
	Error         string    `json:"error"` // why the rest is not known; empty: it is
	Started       time.Time `json:"started"`
	UptimeSeconds float64   `json:"uptime_seconds"`

	MemoryBytes      int64  `json:"memory_bytes"`       // in use: alive on the heap, and what is no heap
	MemoryLimitBytes int64  `json:"memory_limit_bytes"` // 0: none
	DiskFreeBytes    uint64 `json:"disk_free_bytes"`
	DiskTotalBytes   uint64 `json:"disk_total_bytes"`
	DiskMinFreeBytes uint64 `json:"disk_min_free_bytes"` // with less free than this, no writes are taken
	LogBytes         int64  `json:"log_bytes"`           // of log since the last snapshot
	SnapshotIndex    uint64 `json:"snapshot_index"`      // 0: there is none
	SnapshotBytes    int64  `json:"snapshot_bytes"`

	AppliedIndex uint64 `json:"applied_index"`
	Identities   uint64 `json:"identities"`
	Connections  int    `json:"connections"`
	Streams      int    `json:"streams"`
	InFlight     int64  `json:"in_flight"` // requests

	Requests  uint64       `json:"requests"` // answered
	Failures  uint64       `json:"failures"` // of them with a status from 500 on
	Durations []answeredIn `json:"durations"`
}

// answeredIn is how many requests took at most so long; those that took longer than the last bound are the rest of Requests.
type answeredIn struct {
	Seconds float64 `json:"seconds"`
	Count   uint64  `json:"count"`
}

// loadPatience is how long a node may take to tell.
const loadPatience = 2 * time.Second

func (n *Node) loadRows() []route.Row {
	return []route.Row{{Method: "GET", Path: "/api/flagraft/v1/cluster/load/", OperationID: "flagraft_v1_cluster_load_list", Tag: "Cluster", Kind: route.Local,
		Auth: route.Superuser, Summary: "How busy each member is: memory, disk, requests and how long they took.", Handler: route.Func(n.listLoads)}}
}

// listLoads asks every member at the same time.
func (n *Node) listLoads(c *route.Call, _ struct{}) ([]nodeLoad, error) {
	ctx, cancel := context.WithTimeout(c.Context, loadPatience)
	defer cancel()
	members := n.cluster.Members()
	loads := make([]nodeLoad, len(members))
	var asked sync.WaitGroup
	for i, m := range members {
		asked.Go(func() { loads[i] = n.askLoad(ctx, m.ID) })
	}
	asked.Wait()
	return loads, nil
}

func (n *Node) askLoad(ctx context.Context, id string) nodeLoad {
	var l nodeLoad
	answer, err := n.cluster.CallNode(ctx, id, callLoad, nil)
	if err == nil {
		err = json.Unmarshal(answer, &l)
	}
	if err != nil {
		return nodeLoad{ID: id, Error: err.Error(), Durations: []answeredIn{}}
	}
	return l
}

// serveLoad answers askLoad.
func (n *Node) serveLoad(context.Context, string, []byte) ([]byte, error) {
	return json.Marshal(n.load())
}

// load is how busy this node is.
func (n *Node) load() nodeLoad {
	disk := n.cluster.Space()
	l := nodeLoad{
		ID: n.cluster.ID(), Started: n.started.UTC(), UptimeSeconds: time.Since(n.started).Seconds(),
		MemoryBytes: memoryInUse(), MemoryLimitBytes: n.server.memory.bound(),
		DiskFreeBytes: disk.Free, DiskTotalBytes: disk.Total, DiskMinFreeBytes: disk.Min,
		LogBytes: n.cluster.StorageStats().LogBytes, SnapshotIndex: n.cluster.SnapshotIndex(), SnapshotBytes: n.cluster.SnapshotBytes(),
		AppliedIndex: n.fsm.State().Index, Identities: uint64(n.storedIdentities()),
		Connections: n.server.connections.count(), Streams: n.streams.Open(), InFlight: n.server.inFlight.Load(),
	}
	var atMost map[float64]uint64
	l.Requests, l.Failures, atMost = n.server.metrics.totals()
	for _, bound := range tally.Bounds {
		l.Durations = append(l.Durations, answeredIn{bound, atMost[bound]})
	}
	return l
}
