package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
)

// nodeStatus is the answer of /status: this node, what it has applied, and the
// cluster as it knows it. Times are UTC; indexes are of the Raft log.
type nodeStatus struct {
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id"`
	Version   string `json:"version"`
	Epoch     string `json:"epoch"`
	API       string `json:"api"`
	Address   string `json:"address"` // of the cluster port
	Ready     bool   `json:"ready"`
	// FormatLevel is the cluster's, KnownFormatLevel the newest that this binary knows.
	FormatLevel      uint8 `json:"format_level"`
	KnownFormatLevel uint8 `json:"known_format_level"`

	State       string    `json:"state"` // forming, follower, candidate, leader, stopped
	IsLeader    bool      `json:"is_leader"`
	Leader      string    `json:"leader"` // node id; empty: none is known
	Term        uint64    `json:"term"`
	LastContact time.Time `json:"last_contact"`
	AgeMS       int64     `json:"age_ms"`

	CommitIndex   uint64 `json:"commit_index"`
	AppliedIndex  uint64 `json:"applied_index"`
	LastLogIndex  uint64 `json:"last_log_index"`
	SnapshotIndex uint64 `json:"snapshot_index"`
	// StateHash is equal on all nodes whose StateHashIndex, the last entry applied, is equal.
	StateHash      string    `json:"state_hash"`
	StateHashIndex uint64    `json:"state_hash_index"`
	StateTime      time.Time `json:"state_time"`
	Environments   int       `json:"environments"`
	// HashCheck is the last time the nodes compared their state hashes.
	HashCheck hashCheckStatus `json:"hash_check"`
	// BackupSchedules are those of the cluster.
	BackupSchedules []scheduleStatus `json:"backup_schedules"`

	Limits []capacity `json:"limits"` // what fills up

	Peers   []cluster.Member `json:"peers"` // every member, this node included
	Storage cluster.Storage  `json:"storage"`
	Disk    cluster.Space    `json:"disk"`
	// ReadOnly says that the cluster takes no writes for want of disk space.
	ReadOnly bool `json:"read_only"`
}

func (n *Node) status() nodeStatus {
	state, c := n.fsm.State(), n.cluster.Status()
	s := nodeStatus{
		NodeID: c.NodeID, ClusterID: c.ClusterID, Version: n.build.Version, Epoch: state.Genesis.Epoch,
		API: n.APIAddr(), Address: c.Address, Ready: n.Ready(),
		FormatLevel: state.Level(), KnownFormatLevel: fsm.FormatLevel,
		State: c.State, IsLeader: n.cluster.IsLeader(), Leader: c.Leader, Term: c.Term,
		LastContact: c.LastContact, AgeMS: n.reads().Age().Milliseconds(),
		CommitIndex: c.Commit, AppliedIndex: c.Applied, LastLogIndex: c.LastLog, SnapshotIndex: c.Snapshot,
		StateHash: state.Hash(), StateHashIndex: state.Index, StateTime: state.Time.Std(), HashCheck: n.hashCheckStatus(), BackupSchedules: scheduleStatuses(state),
		Limits: n.capacities(), Peers: c.Members, Storage: c.Storage, Disk: c.Disk, ReadOnly: c.ReadOnly,
	}
	n.views.Each(func(*fsm.Live) { s.Environments++ })
	return s
}

func (m *management) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !m.node.running.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"ready":false}` + "\n"))
		return
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(m.node.status()) // a client that went away is no fault of ours
}
