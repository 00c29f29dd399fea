package admin

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/route"
)

func TestOnlyFaultsAreLogged(t *testing.T) {
	var log bytes.Buffer
	c := &Ctx{Call: &route.Call{Row: &route.Row{OperationID: "health"}}, Env: &Env{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	c.SetStatus(500)
	require.Equal(t, 500, c.answer(nil, nil).Status, "what a node that is not ready says of its health")
	require.Empty(t, log.String())

	require.Equal(t, 500, c.answer(nil, errors.New("broken")).Status)
	require.Contains(t, log.String(), "level=ERROR msg=\"request failed\" operation=health error=broken")
}
