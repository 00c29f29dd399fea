package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
)

const (
	// restorePart is how much of a backup travels at once: below every limit on bodies, calls and entries.
	restorePart = 512 << 10
	// restoreTimeout bounds the sending of one part, the switch to the backup included: every node reads it whole then.
	restoreTimeout = 5 * time.Minute
)

// restoreAnswer is the leader's answer to a part. It travels between nodes: members may be added, never changed.
type restoreAnswer struct {
	Refusal  string `cbor:"1,keyasint,omitempty"` // why the part was not taken
	Conflict bool   `cbor:"2,keyasint,omitempty"` // the refusal is about the state, not the backup
	Received uint64 `cbor:"3,keyasint,omitempty"`
	Index    uint64 `cbor:"4,keyasint,omitempty"`
	Restored bool   `cbor:"5,keyasint,omitempty"`
}

// restoreRefusal is the error of a part that was refused: nothing changed.
type restoreRefusal struct {
	text     string
	conflict bool
}

func (e *restoreRefusal) Error() string { return e.text }

// Restore replaces everything by a backup, wherever the leader is, and returns the index of the switch when this node's Views show it. Without
// force it refuses to remove projects. Errors: those of reading, a refusal, or that the outcome is unknown.
func (n *Node) Restore(ctx context.Context, backup io.Reader, force bool, by fsm.Author) (index uint64, err error) {
	part := fsm.RestorePart{ID: uuid.New(), Force: force, Author: by}
	buf, next := make([]byte, restorePart), make([]byte, restorePart)
	size, err := io.ReadFull(backup, buf)
	for {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, fmt.Errorf("read backup: %w", err)
		}
		more := 0
		if err == nil {
			more, err = io.ReadFull(backup, next)
		}
		part.Data, part.Last = buf[:size], more == 0
		answer, sent := n.sendRestore(ctx, &part)
		if sent != nil {
			return 0, sent
		}
		if answer.Restored {
			return answer.Index, n.showRestored(ctx, answer.Index)
		}
		part.Offset += uint64(size)
		buf, next, size = next, buf, more
	}
}

// sendRestore has the leader take a part. A part may be sent any number of times, so it is, until its outcome is known.
func (n *Node) sendRestore(ctx context.Context, p *fsm.RestorePart) (answer restoreAnswer, err error) {
	payload, err := cbor.Marshal(p)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	for {
		raw, err := n.cluster.Call(ctx, callRestore, payload)
		switch {
		case err == nil:
			if err := cbor.Unmarshal(raw, &answer); err != nil {
				return answer, fmt.Errorf("answer of the leader: %w", err)
			}
			if answer.Refusal != "" {
				return answer, &restoreRefusal{answer.Refusal, answer.Conflict}
			}
			return answer, nil
		case errors.Is(err, cluster.ErrStopped),
			!errors.Is(err, cluster.ErrNotLeader) && !errors.Is(err, cluster.ErrUnavailable) && !errors.Is(err, cluster.ErrUnknownOutcome):
			return answer, err
		}
		pause(ctx, retryPause)
		if !n.leaderComes(ctx) {
			return answer, err
		}
	}
}

// leaderComes waits for a leader, as long as a write would.
func (n *Node) leaderComes(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, n.settings.LeaderTimeout)
	defer cancel()
	return n.cluster.WaitLeader(ctx) == nil
}

// serveRestore is the leader's side.
func (n *Node) serveRestore(ctx context.Context, _ string, payload []byte) ([]byte, error) {
	var p fsm.RestorePart
	if err := cbor.Unmarshal(payload, &p); err != nil {
		return nil, err
	}
	if len(p.Data) > fsm.MaxRestorePart {
		return cbor.Marshal(restoreAnswer{Refusal: fmt.Sprintf("A part may have %d bytes at most.", fsm.MaxRestorePart)})
	}
	if level := n.fsm.State().Level(); level < fsm.RestoreLevel {
		return cbor.Marshal(restoreAnswer{Conflict: true, Refusal: fmt.Sprintf(
			"The cluster is at format level %d, restores need %d: it rises by itself once every node runs this version.", level, fsm.RestoreLevel)})
	}
	applied, err := n.cluster.Propose(ctx, fsm.NewRestoreEntry(p, n.Clock()))
	if err != nil {
		return nil, err
	}
	result := applied.Response.(*fsm.RestoreResult)
	answer := restoreAnswer{Received: result.Received, Index: applied.Index, Restored: result.Restored}
	if result.Err != nil {
		answer.Refusal = "Nothing was restored: " + result.Err.Error() + "."
		answer.Conflict = !errors.Is(result.Err, fsm.ErrBackup)
	}
	if result.Restored {
		n.log.Warn("restored a backup", "index", applied.Index, "by", p.Author.Name)
	}
	return cbor.Marshal(answer)
}

// showRestored returns once this node's Views are those of the restored state.
func (n *Node) showRestored(ctx context.Context, index uint64) error {
	if err := n.fsm.Applied().Wait(ctx, index); err != nil {
		return err
	}
	var all []uint64
	n.views.Each(func(l *fsm.Live) { all = append(all, l.ID()) })
	slices.Sort(all)
	return n.views.Wait(ctx, index, all...)
}

// describe is what a restore came to.
func (n *Node) describeRestore(index uint64) restored {
	state := n.fsm.State()
	r := restored{Index: strconv.FormatUint(index, 10), Epoch: state.Genesis.Epoch}
	for range fsm.Environments.Refs(state) {
		r.Environments++
	}
	return r
}
