package sdk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// late is a node that is behind: what another node got acknowledged before is applied
// here only when this node's own write is waited for.
type late struct {
	IdentityWriter
	before func() []identity.Op
}

func (l *late) Write(ctx context.Context, ops []identity.Op) (uint64, []identity.Result, error) {
	if l.before != nil {
		earlier := l.before()
		l.before = nil
		if _, _, err := l.IdentityWriter.Write(ctx, earlier); err != nil {
			return 0, nil, err
		}
	}
	return l.IdentityWriter.Write(ctx, ops)
}

func TestAnAnswerShowsWhatItsIndexShows(t *testing.T) {
	var w *late
	h := newHouse(t, func(c *Config) {
		w = &late{IdentityWriter: c.Identities}
		c.Identities = w
	})
	f, _ := h.segmentless("banner")
	h.segment("premium", "plan", "premium", f, str("thanks"))
	elsewhere := func(identifier, value string) {
		w.before = func() []identity.Op {
			return []identity.Op{{Kind: identity.KindUpsert, Environment: h.env.ID, Identifier: []byte(identifier),
				Traits: []identity.TraitOp{{Key: []byte("plan"), Value: []byte(value)}}}}
		}
	}
	elsewhere("ann", `"premium"`)
	got := h.get("identities/?identifier=ann")
	require.Contains(t, got.body, `"trait_key":"plan","trait_value":"premium"`)
	require.Contains(t, got.body, `"feature_state_value":"thanks"`)

	elsewhere("bob", `"premium"`)
	got = h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"age","trait_value":5}]}`)
	require.Contains(t, got.body, `"trait_key":"plan","trait_value":"premium"`)
	require.Contains(t, got.body, `"feature_state_value":"thanks"`)

	elsewhere("bob", `"basic"`)
	got = h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"age","trait_value":6},{"trait_key":"new","trait_value":1}]}`)
	require.Contains(t, got.body, `"trait_key":"plan","trait_value":"basic"`)
	require.Contains(t, got.body, `"feature_state_value":"v"`)
	require.Contains(t, got.body, `{"id":null,"trait_key":"new"`, "as the reference: it was known")
}

func TestAnAnswerShowsTheFlagsOfItsIndex(t *testing.T) {
	var w *late
	h := newHouse(t, func(c *Config) {
		w = &late{IdentityWriter: c.Identities}
		c.Identities = w
	})
	_, state := h.segmentless("banner")
	w.before = func() []identity.Op {
		h.Write(t, func(tx *fsm.Tx) error {
			state.Value = str("new")
			fsm.FeatureStates.Put(tx, state)
			return nil
		})
		return []identity.Op{{Kind: identity.KindUpsert, Environment: h.env.ID, Identifier: []byte("x")}}
	}
	got := h.post("identities/", `{"identifier":"ann","traits":[{"trait_key":"age","trait_value":5}]}`)
	require.Contains(t, got.body, `"feature_state_value":"new"`, got.header("Flagraft-Index"))
}

func TestTheSameTraitsGiveTheSameNameAlsoNulls(t *testing.T) {
	h := newHouse(t)
	const body = `{"traits":[{"trait_key":"plan","trait_value":null}]}`
	first, second := h.post("identities/", body), h.post("identities/", body)
	require.Equal(t, first.body, second.body)
	require.Contains(t, first.body, `"identifier":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`)
}
