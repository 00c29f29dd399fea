package sdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// A kept list is the one that would be rendered: for the segments that match, the
// kind of key, the identity and the View.
func TestKeptLists(t *testing.T) {
	h := newHouse(t)
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	split, _ := h.feature(fsm.Feature{Name: "split", Type: fsm.Multivariate}, true, str("control"))
	h.feature(fsm.Feature{Name: "secret", IsServerKeyOnly: true}, true, str("s"))
	for i := range 3 {
		h.segment(fmt.Sprint("s", i), "plan", fmt.Sprint(i), f, str(fmt.Sprint("value ", i)))
	}
	value := func(key, identifier, plan string) string {
		body := fmt.Sprintf(`{"identifier":%q,"transient":true,"traits":[{"trait_key":"plan","trait_value":%q}]}`, identifier, plan)
		if identifier == "own" {
			body = `{"identifier":"own"}`
		}
		a := h.do("POST", "/api/v1/identities/", key, body)
		require.Equal(t, 200, a.status)
		require.Equal(t, key == serverKey, strings.Contains(a.body, `"secret"`))
		for _, v := range []string{"value 0", "value 1", "value 2", "own", "changed", "default"} {
			if strings.Contains(a.body, `"feature_state_value":"`+v+`"`) {
				return v
			}
		}
		return ""
	}
	value(clientKey, "own", "")
	h.override("own", f, str("own"))
	for range 3 {
		for _, key := range []string{clientKey, serverKey} {
			for i := range 3 {
				require.Equal(t, fmt.Sprint("value ", i), value(key, fmt.Sprint("user", i), fmt.Sprint(i)))
			}
			require.Equal(t, "default", value(key, "nobody", "none"))
			require.Equal(t, "own", value(key, "own", ""))
		}
	}
	h.Write(t, func(tx *fsm.Tx) error {
		s, _ := fsm.FeatureStatesByEnvironment.First(tx, h.env.ID, fsm.StateDefault, f.ID)
		s.Value = str("changed")
		fsm.FeatureStates.Put(tx, s)
		return nil
	})
	require.Equal(t, "changed", value(clientKey, "nobody", "none"))

	// With a split every identity has its own list.
	h.Write(t, func(tx *fsm.Tx) error {
		o := fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{Feature: split.ID, Value: str("variant")})
		s, _ := fsm.FeatureStatesByEnvironment.First(tx, h.env.ID, fsm.StateDefault, split.ID)
		s.Multivariate = []fsm.MultivariateValue{{ID: tx.NextMultivariateValueID(), Option: o.ID, Percentage: 50}}
		fsm.FeatureStates.Put(tx, s)
		return nil
	})
	seen := map[bool]bool{}
	for i := range 40 {
		seen[strings.Contains(h.post("identities/", fmt.Sprintf(`{"identifier":"u%d","transient":true}`, i)).body, `"variant"`+`,"environment"`)] = true
	}
	require.Len(t, seen, 2)
}

func TestKeptListsAreBounded(t *testing.T) {
	lists := &flagLists{}
	lists.used.Store(maxLists + 1)
	slot := listSlot{lists, &lists.places[0][0], []uint64{1}}
	slot.keep([]byte("[]"))
	require.Nil(t, slot.place.Load())
	lists.used.Store(0)
	slot.keep([]byte("[]"))
	slot.matched = []uint64{2}
	slot.keep([]byte("[1]"))
	require.Equal(t, "[]", string(slot.place.Load().json), "a place is filled once")
	require.EqualValues(t, 2, lists.used.Load())
	listSlot{}.keep([]byte("[]"))
}

// plans is a house with a segment for each of so many plans, and what asks for the flags of somebody in a plan.
func plans(t *testing.T, n int) (h *house, ask func(plan int) string) {
	t.Helper()
	h = newHouse(t)
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	for i := range n {
		h.segment(fmt.Sprint("s", i), "plan", fmt.Sprint(i), f, str(fmt.Sprint("value ", i)))
	}
	return h, func(plan int) string {
		return h.post("identities/", fmt.Sprintf(`{"identifier":"u","transient":true,"traits":[{"trait_key":"plan","trait_value":"%d"}]}`, plan)).body
	}
}

// keptLists are the different lists that the house's View keeps for client-side keys.
func (h *house) keptLists() map[string]bool {
	found, _ := h.sdk.Views.ByKey([]byte(clientKey))
	kept, places := map[string]bool{}, found.Live.View().Prepared(listsSlot).Load().(*flagLists).of(false)
	for i := range places {
		if l := places[i].Load(); l != nil {
			kept[string(l.json)] = true
		}
	}
	return kept
}

// More segments than a word has bits.
func TestKeptListsOfManySegments(t *testing.T) {
	const many = 130
	h, ask := plans(t, many)
	for range 3 {
		for i := range many {
			require.Contains(t, ask(i), fmt.Sprintf(`"feature_state_value":"value %d"`, i))
		}
		require.Contains(t, ask(many), `"feature_state_value":"default"`)
	}
	require.Greater(t, len(h.keptLists()), 56) // of 64 places, for 131 combinations
}

// Combinations that share a place are kept behind one another.
func TestListsOfAllCommonCombinations(t *testing.T) {
	const few = 40
	h, ask := plans(t, few)
	for i := range few + 1 {
		ask(i)
	}
	require.Len(t, h.keptLists(), few+1)
}
