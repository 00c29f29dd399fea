package fsm

import (
	"errors"
	"fmt"
	"slices"
)

// State hashes are compared in two entries. A mark asks every node for its hash as
// of that place in the log, taken while applying. The leader collects the hashes
// and, when a majority of the voters has the same one, logs a verdict that names
// it; a node whose hash at the mark was another stops as it applies the verdict,
// the leader too. See [HashChecker] and ADR 9.

// ErrDiverged is why a node stops whose state is not the majority's.
var ErrDiverged = errors.New("the state of this node differs from the majority's")

// HashMark is a place in the log and this node's state hash just before it.
type HashMark struct {
	Index uint64
	Hash  string
}

// HashVerdict is what a majority of the voters had at a mark.
type HashVerdict struct {
	Mark   uint64   `cbor:"1,keyasint"`
	Hash   string   `cbor:"2,keyasint"`
	Agreed int      `cbor:"3,keyasint"`           // nodes known to have it
	Differ []string `cbor:"4,keyasint,omitempty"` // ids of nodes known to have another
}

// keptMarks is how many marks a node remembers for verdicts and questions.
const keptMarks = 16

// hashMarks are the newest marks, oldest first. The slice is never changed once
// published. It is the node's own memory and no part of the state: after a restore
// it is empty, and verdicts on older marks are not judged.
type hashMarks []HashMark

func (m hashMarks) at(index uint64) (string, bool) {
	for _, mark := range m {
		if mark.Index == index {
			return mark.Hash, true
		}
	}
	return "", false
}

// Mark returns this node's state hash at the mark with that index, if it applied it lately.
func (f *FSM) Mark(index uint64) (hash string, ok bool) { return f.marks().at(index) }

// LastMark returns the newest mark this node has applied; its Index is 0 when there is none.
func (f *FSM) LastMark() HashMark {
	m := f.marks()
	if len(m) == 0 {
		return HashMark{}
	}
	return m[len(m)-1]
}

// Verdict returns the last verdict this node has applied; its Mark is 0 when there is none.
func (f *FSM) Verdict() HashVerdict {
	if v := f.verdict.Load(); v != nil {
		return *v
	}
	return HashVerdict{}
}

// Mismatches counts the nodes that the verdicts applied since the start found to differ.
func (f *FSM) Mismatches() uint64 { return f.mismatches.Load() }

func (f *FSM) marks() hashMarks {
	if m := f.marked.Load(); m != nil {
		return *m
	}
	return nil
}

// OnStop sets what is called on Raft's FSM goroutine when a verdict finds this node wrong, or when it cannot apply an
// entry. It must not return as long as the node serves. Without it the node panics.
func (f *FSM) OnStop(stop func(error)) { f.stop = stop }

func newMarkEntry() []byte { return newEntry(KindHashMark, 2, nil) }

func newVerdictEntry(v HashVerdict) []byte {
	return newEntry(KindHashVerdict, 2, must(encMode.Marshal(&v)))
}

func (f *FSM) applyMark(index uint64, body []byte) error {
	if len(body) != 0 {
		return fmt.Errorf("%w: a mark of %d bytes", ErrFormat, len(body))
	}
	s := f.current
	if f.ids != nil {
		s.identitySum = f.ids.Sum()
	}
	kept := f.marks()
	kept = append(slices.Clone(kept[max(0, len(kept)-keptMarks+1):]), HashMark{index, s.Hash()})
	f.marked.Store(&kept)
	return nil
}

func (f *FSM) applyVerdict(body []byte) error {
	var v HashVerdict
	if err := decodeBody(body, &v); err != nil {
		return err
	}
	f.verdict.Store(&v)
	f.mismatches.Add(uint64(len(v.Differ)))
	own, known := f.Mark(v.Mark)
	if !known || own == v.Hash {
		return nil
	}
	err := fmt.Errorf("%w: at entry %d it had the hash %s, the majority %s", ErrDiverged, v.Mark, own, v.Hash)
	switch {
	case f.givesUp:
		f.refused = err // a recovery ends by itself
	case f.stop == nil:
		panic(err)
	default:
		f.stop(err)
	}
	return nil
}
