package ofrep

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
)

// TestConsistencyOfKeys: the key may be as new as what a request asks to see, or out of use by then.
func TestConsistencyOfKeys(t *testing.T) {
	n := fsmtest.New(t)
	var elsewhere func(tx *fsm.Tx) // written by another node, and applied here while the read waits
	a := New(Config{FSM: n.FSM, Views: n.Views, Usage: n.Usage, ReadIndex: func(context.Context) (uint64, error) {
		return n.Write(t, func(tx *fsm.Tx) error { elsewhere(tx); return nil }).Index, nil
	}})
	enter := func() *fault {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set("X-Environment-Key", "ser.added")
		ctx.Request.Header.Set("Flagraft-Consistency", "linearizable")
		_, f := a.enter(&ctx)
		return f
	}
	elsewhere = func(*fsm.Tx) {}
	require.Equal(t, unknownKey, enter())
	var row fsm.EnvironmentAPIKey
	elsewhere = func(tx *fsm.Tx) {
		o := fsm.Organisations.Put(tx, fsm.Organisation{Name: "Org"})
		p := fsm.Projects.Put(tx, fsm.Project{Name: "Project", Organisation: o.ID})
		e := fsm.Environments.Put(tx, fsm.Environment{Name: "Later", APIKey: "later", Project: p.ID})
		row = fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: e.ID, Key: "ser.added", Name: "added", Active: true})
	}
	require.Nil(t, enter())
	elsewhere = func(tx *fsm.Tx) {
		row.Active = false
		fsm.EnvironmentAPIKeys.Put(tx, row)
	}
	require.Equal(t, unusable, enter())
}
