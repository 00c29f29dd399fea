package server

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/settings"
)

// TestWriteNotVisibleHere: a node that a write has not reached in time says so with the answer, which a read there could contradict.
func TestWriteNotVisibleHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the patience costs no time
		table, err := route.NewTable(nil)
		require.NoError(t, err)
		log := slog.New(slog.DiscardHandler)
		s := newServer(settings.Defaults(), log, table, "")
		defer s.cancel()
		s.views = fsm.NewViews(log)
		s.fsm = fsm.New(log, s.views)
		defer s.views.Stop()
		answer := func(index uint64) route.Response {
			data, err := encodeAnswer(route.Response{Status: 201}, fsm.Written{Index: index})
			require.NoError(t, err)
			return s.written(context.Background(), data)
		}
		late := answer(7)
		require.Equal(t, 201, late.Status)
		require.Equal(t, "false", late.Header("Flagraft-Visible"))
		require.NotEmpty(t, late.Header("Flagraft-Index"))
		nothing := answer(0)
		require.Empty(t, nothing.Header("Flagraft-Visible"), "nothing was written")
	})
}
