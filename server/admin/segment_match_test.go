package admin

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// TestTallyStops: a count whose time is up says how far it came.
func TestTallyStops(t *testing.T) {
	h := newHarness(t)
	state := h.node.FSM.State()
	const people = 3 * tallyTurn
	for i := range people {
		state.Identities().Apply(&identity.Op{Kind: identity.KindUpsert, Environment: h.environment.ID, Identifier: fmt.Appendf(nil, "user-%06d", i)}, 1, 1)
	}
	c := &Ctx{Env: h.api.Env, Reader: state, Environment: h.environment}
	name := "$.identity.identifier"
	draft := segmentDraft{Rules: []ruleInput{{Type: "ALL", Conditions: route.Some([]conditionInput{
		{Operator: "REGEX", Property: route.Some(name), Value: conditionValue{text: ".*[02468]$", sent: true}}})}}}
	engine, err := draft.compile(c)
	require.NoError(t, err)
	require.Equal(t, segmentTally{Matched: people / 2, LookedAt: people, Identities: people, Complete: true}, c.tally(t.Context(), engine))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cut := c.tally(ended, engine)
	require.Equal(t, segmentTally{Matched: tallyTurn / 2, LookedAt: tallyTurn - 1, Identities: people}, cut)
}
