package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// What a cap left out is told also when the rest was applied by an earlier attempt, of whose results nothing is known.
func TestVerdictsOfABatchThatWasAppliedBefore(t *testing.T) {
	r := batchRequest{verdicts: []identity.Status{identity.StatusOK, identity.StatusOverIdentities}}
	require.Equal(t, []identity.Result{{}, {Status: identity.StatusOverIdentities}}, r.complete(nil))
	require.Equal(t, []identity.Result{{Identity: 7}, {Status: identity.StatusOverIdentities}}, r.complete([]identity.Result{{Identity: 7}}))
	r.verdicts = nil
	require.Empty(t, r.complete(nil))
}
