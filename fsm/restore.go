package fsm

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
)

// A restore replaces everything by a backup, through the log (ADR 11): its parts
// are entries, each node gathers them, and the last one makes the switch. So it
// is committed or not like any write, on all nodes at one index, and the index
// goes on from there.

// RestoreLevel is the format level that knows restores.
const RestoreLevel uint8 = 2

const (
	// MaxRestorePart is how many bytes of a backup one entry carries.
	MaxRestorePart = 1 << 20
	// maxRestoreBytes bounds a backup on its way: every node holds it in memory.
	maxRestoreBytes = 4 << 30
	// restorePatience is how long after its newest part, in replicated time, an
	// unfinished restore is kept.
	restorePatience = 10 * time.Minute
)

// Why a part of a restore was refused. The state is as it was.
var (
	// ErrRestoreOrder says that the part does not follow the last one: another
	// restore was begun meanwhile, or this one was given up.
	ErrRestoreOrder = errors.New("part of a restore that is not under way")
	// ErrNotEmpty says that there are projects that the restore would remove.
	ErrNotEmpty = errors.New("the installation holds projects, which a restore would remove")
	// ErrRestoring is the error of a Raft snapshot while a restore is under way:
	// its parts are only in the log.
	ErrRestoring = errors.New("a restore is under way")
)

// RestorePart is one piece of a backup. Parts come in order; one that came
// before changes nothing.
type RestorePart struct {
	ID     uuid.UUID `cbor:"1,keyasint"` // of the restore
	Offset uint64    `cbor:"2,keyasint"` // of Data in the backup
	Data   []byte    `cbor:"3,keyasint,omitempty"`
	Force  bool      `cbor:"4,keyasint,omitempty"` // also over projects
	Last   bool      `cbor:"5,keyasint,omitempty"` // switch to the backup now
	Author Author    `cbor:"6,keyasint"`
	Time   Time      `cbor:"7,keyasint"` // chosen by the proposer
}

// epoch is the epoch of the restored state: it follows from the restore's id, so
// that its last part, sent again, is known.
func (p *RestorePart) epoch() string {
	sum := sha256.Sum256(p.ID[:])
	return epochOf([8]byte(sum[:8]))
}

// RestoreResult is Apply's answer to a part: Err is nil, [ErrRestoreOrder],
// [ErrNotEmpty], [ErrNotBorn] or [ErrBackup].
type RestoreResult struct {
	Err      error
	Received uint64 // bytes so far
	Restored bool   // the state is the backup's now
}

// NewRestoreEntry makes the log entry of a part. Only propose it in a cluster
// that is at [RestoreLevel].
func NewRestoreEntry(p RestorePart, now time.Time) []byte {
	p.Time = TimeOf(now)
	return newEntry(KindRestore, RestoreLevel, must(encMode.Marshal(&p)))
}

// stagedRestore is what came of a restore so far. It is a function of the log,
// but not part of snapshots: see [FSM.Snapshot].
type stagedRestore struct {
	id    uuid.UUID
	parts [][]byte
	size  uint64
	at    Time // of the newest part
}

// Empty reports whether a restore removes nothing that somebody made: there is
// no project.
func (s *State) Empty() bool {
	for range Projects.Refs(s) {
		return false
	}
	return true
}

func (f *FSM) applyRestore(index uint64, body []byte) (*RestoreResult, error) {
	var p RestorePart
	if err := decodeBody(body, &p); err != nil {
		return nil, err
	}
	if f.current.Born() && f.current.Genesis.Epoch == p.epoch() {
		return &RestoreResult{Restored: true}, nil // a part of the restore that is done came again
	}
	f.current.rows = f.rows.frozen() // of entries before in the batch, too
	if err := f.stage(&p); err != nil {
		return &RestoreResult{Err: err}, nil
	}
	f.current.Time = max(f.current.Time, p.Time)
	result := &RestoreResult{Received: f.staged.size}
	if p.Last {
		parts := make([]io.Reader, len(f.staged.parts))
		for i, b := range f.staged.parts {
			parts[i] = bytes.NewReader(b)
		}
		f.staged = nil
		result.Err = f.switchTo(index, &p, io.MultiReader(parts...))
		result.Restored = result.Err == nil
	}
	return result, nil
}

// stage takes the data of a part.
func (f *FSM) stage(p *RestorePart) error {
	switch {
	case !f.current.Born():
		return ErrNotBorn
	case !p.Force && !f.current.Empty():
		return ErrNotEmpty
	case p.Offset == 0 && (f.staged == nil || f.staged.id != p.ID):
		f.staged = &stagedRestore{id: p.ID} // another one that was under way is given up
	case f.staged == nil || f.staged.id != p.ID || p.Offset > f.staged.size:
		return ErrRestoreOrder
	}
	s := f.staged
	s.at = max(s.at, p.Time, f.current.Time)
	if p.Offset+uint64(len(p.Data)) > maxRestoreBytes {
		f.staged = nil
		return fmt.Errorf("%w: it is larger than %d bytes", ErrBackup, uint64(maxRestoreBytes))
	}
	if p.Offset == s.size && len(p.Data) > 0 {
		s.parts, s.size = append(s.parts, p.Data), s.size+uint64(len(p.Data))
	}
	return nil
}

// forget gives up a restore whose client went away.
func (f *FSM) forget() {
	if f.staged != nil && f.current.Time > f.staged.at.Add(restorePatience) {
		f.staged = nil
	}
}

// switchTo reads a backup and makes it the state.
func (f *FSM) switchTo(index uint64, p *RestorePart, backup io.Reader) error {
	h, s, err := readBackup(backup)
	if err != nil {
		return err
	}
	if h.Level > f.current.Genesis.Level {
		return fmt.Errorf("%w: it is of format level %d, the cluster is at %d", ErrBackup, h.Level, f.current.Genesis.Level)
	}
	old := &f.current
	s.Index = index
	s.Seq = max(old.Seq, s.Seq) + 1 // no changeset computed before fits after it
	s.Time = laterThanAll(p.Time, old, s)
	s.Genesis.Epoch, s.Genesis.Level = p.epoch(), max(old.Genesis.Level, s.Genesis.Level)
	s.identities.Continue(f.ids)
	a := &rowApplier{rows: s.rows.fork(), at: s.Time, ids: s.identities, sum: s.rowsHash, sizes: s.sizes, touched: &Touched{}}
	if err := a.continueFrom(old); err != nil {
		return err
	}
	if err := a.recordRestore(index, p, &h); err != nil {
		return err
	}
	s.rowsHash, s.sizes = a.sum, a.sizes
	f.rows, f.ids, f.current = a.rows, s.identities, *s
	f.replaced = true
	return nil
}

// laterThanAll is a time past everything either state ever showed as a time of
// change, so that whoever follows updated_at follows the restore.
func laterThanAll(at Time, states ...*State) Time {
	for _, s := range states {
		at = max(at, s.Time)
		for e := range Environments.Refs(s) {
			at = max(at, e.UpdatedAt)
		}
	}
	return at + 1
}

// continueFrom lets the restored tables go on with ids where the replaced ones
// stopped: what a client remembers of the removed state never names something else.
func (a *rowApplier) continueFrom(old *State) error {
	for s := range sequences.All(old) {
		if have, _ := sequences.Get(a, s.ID); have.Last < s.Last {
			if err := a.put(sequences.def, s.ID, must(encMode.Marshal(&s))); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordRestore sets updated_at of every environment, and writes the restore
// into the change log.
func (a *rowApplier) recordRestore(index uint64, p *RestorePart, h *BackupHeader) error {
	a.changes = nil
	for _, e := range slices.Collect(Environments.All(a)) {
		e.UpdatedAt = a.at
		if err := a.put(Environments.def, e.ID, must(encMode.Marshal(&e))); err != nil {
			return err
		}
	}
	entry := ChangeLogEntry{ID: a.next(ChangeLog.def), Index: index, Time: a.at, Author: p.Author, Changes: a.changes,
		Note: fmt.Sprintf("restored the backup of installation %s, epoch %s, index %d, state of %s",
			h.Installation, h.Epoch, h.Index, h.StateTime.Std().Format(time.RFC3339))}
	for _, c := range entry.Changes {
		entry.Size += uint64(len(c.Before) + len(c.After) + 16)
	}
	return a.put(ChangeLog.def, entry.ID, must(encMode.Marshal(&entry)))
}
