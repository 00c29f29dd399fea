package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// The classes of failure. Test with errors.Is; they survive a Call.
var (
	// ErrNotLeader: the entry was surely not committed, the call was surely not
	// executed, since no leader is known or the node asked does not lead (any
	// more). Retry freely.
	ErrNotLeader = errors.New("cluster: not the leader")
	// ErrUnavailable: nothing was sent or nothing was executed (the node cannot
	// be reached, refuses, or has no such handler). Retry freely.
	ErrUnavailable = errors.New("cluster: unavailable")
	// ErrUnknownOutcome: it may or may not have happened (leadership lost while
	// committing, shutdown, timeout, connection lost after sending). Retry only
	// what is idempotent.
	ErrUnknownOutcome = errors.New("cluster: outcome unknown")
	// ErrCorrupt: stored or received bytes fail their checksum. The node stops.
	ErrCorrupt = errors.New("cluster: corrupt data")
	// ErrDiskHung: a write to the log store did not return in time. The node stops.
	ErrDiskHung = errors.New("cluster: the disk does not answer")
	// ErrDiskFailed: a write to the log store failed, and not for want of space.
	// The node stops, since after a failed sync nobody knows what the disk holds.
	ErrDiskFailed = errors.New("cluster: a write to the disk failed")
	// ErrTwin: another process runs under this node's id. The node stops, since two would vote as one.
	ErrTwin = errors.New("cluster: another process has this node's id")
	// ErrRival: the cluster that this node takes itself for has another leader. The node stops, since nothing that it takes would stay.
	ErrRival = errors.New("cluster: another leader counts on this node")
	// ErrReadOnly: the entry was surely not committed, for want of disk space on
	// the leader and on every node that could lead, or on a majority. Reads go on,
	// and writes come back by themselves when space is freed.
	ErrReadOnly error = &Error{Code: "read_only", Text: "read-only: too little disk space"}
	// ErrTooLarge: a payload is bigger than a frame may be. Nothing was sent.
	ErrTooLarge = errors.New("cluster: message too large")
	// ErrStopped: the node is stopping or stopped; nothing was sent.
	ErrStopped = fmt.Errorf("%w: node stopped", ErrUnavailable)
)

// Error is an application's own error, returned by a handler. Code and Text
// arrive at the caller unchanged (errors.As).
type Error struct {
	Code string
	Text string
}

func (e *Error) Error() string {
	if e.Code == "" {
		return e.Text
	}
	return e.Code + ": " + e.Text
}

// Is makes errors with the same code equal, on whatever node they were made.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && e.Code != "" && e.Code == other.Code
}

// proposeError gives one of raft's apply errors its class. What is not known
// to be "surely not committed" is unknown.
func proposeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	case errors.Is(err, errDiskFull): // of the leader: the entry went nowhere
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
}
