package disk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
)

var (
	// Raft's transport then handles heartbeats beside Raft's main loop.
	withoutMitigation = mutant.Edit{File: "cluster/transport.go",
		Old: "func (*serialTransport) SetHeartbeatHandler(func(raft.RPC)) {}", New: ""}
	// The log store then takes entries made by a node that does not lead.
	withoutStampCheck = mutant.Edit{File: "cluster/storage.go",
		Old: "if l.Index != 1 && (from == nil || !from.leading()) {", New: "if l.Index != 1 && from == nil {"}
)

// TestInjectedHeartbeatIsNoticed: the test that injects a heartbeat of a newer term
// into a leader fails without the mitigation. There are two lines of defence: without
// the first the log store stops the node; without both an entry is stored under a
// term that nobody won.
func TestInjectedHeartbeatIsNoticed(t *testing.T) {
	needsNodes(t)
	const test = "^TestHeartbeatOfANewerTermStoresNothingUnderIt$"
	output, err := mutant.Test(t, "./cluster", test)
	require.NoError(t, err, output)
	output, err = mutant.Test(t, "./cluster", test, withoutMitigation)
	require.Error(t, err, output)
	require.Contains(t, output, "Should be empty") // the reasons for which the node stopped
	output, err = mutant.Test(t, "./cluster", test, withoutMitigation, withoutStampCheck)
	require.Error(t, err, output)
	require.Contains(t, output, "was stored under a term nobody won")
}
