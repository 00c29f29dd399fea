package fsmtest_test

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/stretchr/testify/require"
	"testing"
)

func TestWriteReadsBack(t *testing.T) {
	n := fsmtest.New(t)
	var id uint64
	w := n.Write(t, func(tx *fsm.Tx) error {
		o := fsm.Organisations.Put(tx, fsm.Organisation{Name: "o", UUID: tx.NewUUID()})
		p := fsm.Projects.Put(tx, fsm.Project{Name: "p", UUID: tx.NewUUID(), Organisation: o.ID})
		e := fsm.Environments.Put(tx, fsm.Environment{Name: "e", APIKey: "key", Project: p.ID})
		id = e.ID
		return nil
	})
	require.Equal(t, []uint64{id}, w.Environments)
	k, ok := n.Views.ByKey([]byte("key"))
	require.True(t, ok)
	require.Equal(t, w.Index, k.Live.View().Index)
	require.Len(t, n.FSM.State().Hash(), 32)
}
