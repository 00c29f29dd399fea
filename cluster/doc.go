// Package cluster moves bytes between nodes and through Raft, and knows nothing
// of flags.
//
// A Node proposes log entries (Propose), tells how far a linearizable read has
// to wait (ReadIndex), carries calls to the leader or to any node (Handle, Call,
// CallNode), exchanges a small report with the leader ten times a second
// (Heartbeat), and forms the cluster: discovery, pledged bootstrap, join.
//
// # Indexes
//
// Every index this package hands out (Applied.Index, ReadIndex, CommitIndex,
// AppliedIndex) is the Raft index of an entry that the FSM sees. Raft's own
// no-op, barrier and configuration entries never show, so waiting until the
// FSM has applied an index always ends.
//
// # Outcomes
//
// A write that failed with ErrNotLeader or ErrUnavailable did surely not
// happen. ErrUnknownOutcome means that it may have happened: retry only with
// an idempotency key. Errors keep their class when they cross the wire.
//
// # Ports
//
// One TCP port carries Raft and calls; the first bytes of a connection say
// which, inside TLS 1.3 if nodes have certificates, after a mutual proof of the
// cluster secret if there is one. Gossip (memberlist) has a
// port of its own and is a hint where to ask, nothing more: votes and members
// come from the Raft configuration and from calls.
package cluster
