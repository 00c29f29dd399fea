package fsmtest

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Corrupt changes the state of one node behind the log's back, as a fault of its
// memory or of its program would: an identity appears that no other node has. The
// cluster must be idle, since applying belongs to the goroutine of the log.
func Corrupt(t testing.TB, f *fsm.FSM) {
	t.Helper()
	before := f.State()
	op := identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: []byte("nobody else has it")}
	entry := append([]byte{byte(fsm.KindIdentityBatch), fsm.BaseLevel}, make([]byte, 8)...) // at time 0
	entry = identity.AppendSubBatch(identity.AppendBatch(entry), identity.SubBatch{Node: []byte("fault"), Sequence: 1, Ops: 1}, identity.AppendOp(nil, &op))
	f.Apply(&raft.Log{Index: before.Index, Type: raft.LogCommand, Data: entry})
	if f.State().Hash() == before.Hash() {
		t.Fatal("the state did not change")
	}
}
