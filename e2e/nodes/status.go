package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Status is what /status tells, as far as it is used here.
type Status struct {
	NodeID         string `json:"node_id"`
	ClusterID      string `json:"cluster_id"`
	IsLeader       bool   `json:"is_leader"`
	Leader         string `json:"leader"`
	Term           uint64 `json:"term"`
	CommitIndex    uint64 `json:"commit_index"`
	AppliedIndex   uint64 `json:"applied_index"`
	StateHash      string `json:"state_hash"`
	ReadOnly       bool   `json:"read_only"`
	StateHashIndex uint64 `json:"state_hash_index"`
	SnapshotIndex  uint64 `json:"snapshot_index"`
	Version        string `json:"version"`
	// FormatLevel is the cluster's, KnownFormatLevel the node's own; both are 0 in a
	// version of before there were levels.
	FormatLevel      uint8 `json:"format_level"`
	KnownFormatLevel uint8 `json:"known_format_level"`
	Storage          struct {
		Stores     uint64 `json:"stores"`
		Entries    uint64 `json:"entries"`
		StoreNanos uint64 `json:"store_nanos"`
		CacheBytes int64  `json:"cache_bytes"`
		LogBytes   int64  `json:"log_bytes"` // since the last snapshot
	} `json:"storage"`
	Peers []struct {
		ID          string `json:"id"`
		Address     string `json:"address"`
		Voter       bool   `json:"voter"`
		LastContact string `json:"last_contact"`
	} `json:"peers"`
}

// Status asks the management port.
func (n *Node) Status(ctx context.Context) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Management+"/status", nil)
	if err != nil {
		return s, err
	}
	resp, err := (&http.Client{Transport: n.http}).Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// OneState waits until all living nodes report one state hash at one index.
func (c *Cluster) OneState(ctx context.Context) (Status, error) {
	for {
		var first Status
		same := true
		for _, n := range c.Nodes {
			s, err := n.Status(ctx)
			if err != nil {
				same = false
				break
			}
			if first.StateHash == "" {
				first = s
			}
			same = same && s.StateHash == first.StateHash && s.StateHashIndex == first.StateHashIndex
		}
		if same && first.StateHash != "" {
			return first, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return first, fmt.Errorf("nodes do not agree: %w", err)
		}
	}
}
