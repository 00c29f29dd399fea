package sdk

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// busy is a writer of identities beside which others write: what they got acknowledged elsewhere is applied here
// before this node's own write is, and what follows it before the answer is made.
type busy struct {
	IdentityWriter
	before func() []identity.Op
	after  func()
}

func (b *busy) Write(ctx context.Context, ops []identity.Op) (uint64, []identity.Result, error) {
	before, after := b.before, b.after
	b.before, b.after = nil, nil
	if before != nil {
		if _, _, err := b.IdentityWriter.Write(ctx, before()); err != nil {
			return 0, nil, err
		}
	}
	index, results, err := b.IdentityWriter.Write(ctx, ops)
	if after != nil {
		after()
	}
	return index, results, err
}

func busyHouse(t *testing.T) (*house, *busy) {
	t.Helper()
	w := &busy{}
	return newHouse(t, func(c *Config) {
		w.IdentityWriter = c.Identities
		c.Identities = w
	}), w
}

func TestAnAnswerShowsWhatItsIndexShows(t *testing.T) {
	h, w := busyHouse(t)
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
	h, w := busyHouse(t)
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

func TestARepetitionNamesAnIndexThatShowsWhatItRepeats(t *testing.T) {
	h := newHouse(t)
	state := func() string {
		return string(fsm.AppendIndexToken(nil, h.sdk.FSM.State().Genesis.Epoch, h.sdk.FSM.State().Index))
	}
	const body = `{"identifier":"ann","traits":[{"trait_key":"plan","trait_value":"gold"}]}`
	stored := h.post("identities/", body).header("Flagraft-Index")
	require.Equal(t, state(), stored)
	ask := func() {
		for range 2 { // the second time with the headers of the first
			require.Equal(t, state(), h.post("identities/", body).header("Flagraft-Index"))
			require.Equal(t, state(), h.post("identities/", " "+body).header("Flagraft-Index"), "the ordinary way")
			require.Equal(t, state(), h.post("identities/", `{"identifier":"ann","traits":[]}`).header("Flagraft-Index"))
			require.Equal(t, state(), h.get("identities/?identifier=ann").header("Flagraft-Index"))
		}
	}
	ask()
	h.post("identities/", `{"identifier":"bob"}`)
	require.NotEqual(t, stored, state())
	ask()
}

func TestTheSameTraitsGiveTheSameNameAlsoNulls(t *testing.T) {
	h := newHouse(t)
	const body = `{"traits":[{"trait_key":"plan","trait_value":null}]}`
	first, second := h.post("identities/", body), h.post("identities/", body)
	require.Equal(t, first.body, second.body)
	require.Contains(t, first.body, `"identifier":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`)
}

func TestTraitsOfADeletedIdentityAreThoseOfTheNewestView(t *testing.T) {
	h, w := busyHouse(t)
	f, _ := h.segmentless("banner")
	many, _ := h.segment("many", "a", "b", f, str("many"))
	h.Write(t, func(tx *fsm.Tx) error { // names whose numbers are given anew when they are gone
		list := &many.Rules[0].Rules[0].Conditions
		for i := range 5000 {
			name, value := fmt.Sprint("p", i), fmt.Sprint("v", i)
			*list = append(*list, fsm.Condition{Operator: "EQUAL", Property: &name, Value: &value})
		}
		fsm.Segments.Put(tx, many)
		return nil
	})
	h.segment("premium", "plan", "premium", f, str("thanks"))
	h.post("identities/", `{"identifier":"ann","traits":[{"trait_key":"plan","trait_value":"premium"}]}`)
	w.after = func() {
		h.Write(t, func(tx *fsm.Tx) error {
			many.Rules[0].Rules[0].Conditions = many.Rules[0].Rules[0].Conditions[:1]
			fsm.Segments.Put(tx, many)
			return nil
		})
		_, _, err := w.IdentityWriter.Write(t.Context(), []identity.Op{{Kind: identity.KindDelete, Environment: h.env.ID, Identifier: []byte("ann")}})
		require.NoError(t, err)
	}
	got := h.post("identities/", `{"identifier":"ann","traits":[{"trait_key":"new","trait_value":1}]}`)
	require.Contains(t, got.body, `"feature_state_value":"thanks"`)
}
