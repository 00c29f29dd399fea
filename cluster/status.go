package cluster

import "time"

// Member is one server of the Raft configuration.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"`           // of the cluster port
	API     string `json:"api,omitempty"`     // of the public HTTP API, as the node last told
	Version string `json:"version,omitempty"` // of its binary
	// Level is the newest format level that its binary knows; 0 = not heard.
	Level  uint8 `json:"format_level,omitempty"`
	Voter  bool  `json:"voter"`
	Leader bool  `json:"leader"`
	Ready  bool  `json:"ready"`
	// Applied is the index it last reported to have applied; 0 = not heard.
	Applied uint64 `json:"applied"`
	// LowDisk says that it reported too little disk space.
	LowDisk bool `json:"low_disk,omitempty"`
	// LastContact is when the leader last heard from it; zero = never.
	LastContact time.Time `json:"last_contact"`
}

// Status is a node's view of itself and of the cluster, for people and metrics.
type Status struct {
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id"` // same on every node; empty before there is a cluster
	Version   string `json:"version"`
	Address   string `json:"address"`
	State     string `json:"state"` // forming, follower, candidate, leader, removed, stopped
	Ready     bool   `json:"ready"`
	Leader    string `json:"leader"` // node id; empty = none known
	Term      uint64 `json:"term"`

	// Commit and Applied are indexes as in the package documentation;
	// LastLog and Snapshot are Raft's own.
	Commit   uint64 `json:"commit_index"`
	Applied  uint64 `json:"applied_index"`
	LastLog  uint64 `json:"last_log_index"`
	Snapshot uint64 `json:"snapshot_index"`

	// LastContact is when this node last heard from a leader that has a quorum.
	LastContact time.Time `json:"last_contact"`
	Members     []Member  `json:"members"`
	Storage     Storage   `json:"storage"`
	Disk        Space     `json:"disk"`
	// ReadOnly says that the cluster takes no writes for want of disk space.
	ReadOnly bool `json:"read_only"`
}

// Storage counts what the log store did since the start.
type Storage struct {
	Stores      uint64 `json:"stores"`       // StoreLogs calls, one fsync each
	Entries     uint64 `json:"entries"`      // entries stored
	Bytes       uint64 `json:"bytes"`        // of their data
	StoreNanos  uint64 `json:"store_nanos"`  // time spent in StoreLogs
	StableSets  uint64 `json:"stable_sets"`  // term, vote and commit index writes
	CacheHits   uint64 `json:"cache_hits"`   // entries read from memory
	CacheMisses uint64 `json:"cache_misses"` // entries read from disk
	CacheBytes  int64  `json:"cache_bytes"`  // of the entries in memory
	LogBytes    int64  `json:"log_bytes"`    // since the last snapshot
}
