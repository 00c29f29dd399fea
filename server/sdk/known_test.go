package sdk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Whatever happens between two requests that repeat what is stored, the answer is
// that of the ordinary way, which a space before the body takes.
func TestKnownLists(t *testing.T) {
	h := newHouse(t)
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("usual"))
	g, _ := h.feature(fsm.Feature{Name: "g", IsServerKeyOnly: true}, true, str("g"))
	var plan []fsm.Segment
	for i := range 20 { // enough for two to share a place among the lists
		segment, _ := h.segment(fmt.Sprint("plan", i), "plan", fmt.Sprint(i), f, str(fmt.Sprint("plan ", i)))
		plan = append(plan, segment)
	}
	h.segment("extra", "extra", "yes", f, str("extra"))
	percent := "50"
	h.Write(t, func(tx *fsm.Tx) error {
		rule := fsm.SegmentRule{Type: "ALL", Conditions: []fsm.Condition{{Operator: "PERCENTAGE_SPLIT", Value: &percent}}}
		s := fsm.Segments.Put(tx, fsm.Segment{Name: "half", Project: h.proj.ID, Rules: []fsm.SegmentRule{{Type: "ALL", Rules: []fsm.SegmentRule{rule}}}})
		link := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{Feature: g.ID, Segment: s.ID, Environment: h.env.ID})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: g.ID, Environment: h.env.ID, FeatureSegment: link.ID, Enabled: true, Value: str("half")})
		return nil
	})
	random := rand.New(rand.NewPCG(3, 4))
	plans, extras := map[int]int{}, map[int]string{}
	body := func(who int) string {
		return fmt.Sprintf(`{"identifier":"user%d","traits":[{"trait_key":"plan","trait_value":"%d"}%s]}`, who, plans[who], extras[who])
	}
	for who := range 20 {
		require.Equal(t, 200, h.post("identities/", body(who)).status)
	}
	kept := 0
	for range 3000 {
		who := random.IntN(20)
		before := h.do("POST", "/api/v1/identities/", serverKey, body(who))
		require.Equal(t, 200, before.status)
		switch random.IntN(30) {
		case 0:
			h.override(fmt.Sprint("user", who), f, str(fmt.Sprint("own ", random.IntN(9))))
		case 1: // the same again, but with another id to hash
			o := h.sdk.write(nil, []identity.Op{{Kind: identity.KindDelete, Environment: h.env.ID, Identifier: fmt.Appendf(nil, "user%d", who)}}, time.Minute)
			require.NoError(t, o.err)
		case 2:
			h.set(func(e *fsm.Environment) { e.UseCompositeKeyForHashing = !e.UseCompositeKeyForHashing })
		case 3:
			h.Write(t, func(tx *fsm.Tx) error {
				s, _ := fsm.FeatureStatesByEnvironment.First(tx, h.env.ID, fsm.StateDefault, f.ID)
				s.Value = str(fmt.Sprint("usual ", random.IntN(9)))
				fsm.FeatureStates.Put(tx, s)
				return nil
			})
		case 4: // another plan than before
			h.Write(t, func(tx *fsm.Tx) error {
				s := plan[random.IntN(len(plan))]
				value := fmt.Sprint(random.IntN(len(plan)))
				s.Rules = slices.Clone(s.Rules)
				s.Rules[0].Rules[0].Conditions = []fsm.Condition{{Operator: "EQUAL", Property: s.Rules[0].Rules[0].Conditions[0].Property, Value: &value}}
				fsm.Segments.Put(tx, s)
				return nil
			})
		case 5, 6, 7, 8:
			plans[who] = random.IntN(len(plan))
		case 9, 10:
			extras[who] = `,{"trait_key":"extra","trait_value":"yes"}`
		case 11: // the identities stay as they are, and have a trait less
			h.sdk.write(nil, []identity.Op{{Kind: identity.KindDeleteTraitKey, Environment: h.env.ID, Key: []byte("extra")}}, time.Minute)
			clear(extras)
		}
		key := clientKey
		if random.IntN(2) == 0 {
			key = serverKey
		}
		h.do("POST", "/api/v1/identities/", key, body(who)) // which may store it
		for range 2 {
			found, ok := h.sdk.Views.ByKey([]byte(key))
			require.True(t, ok)
			c := caller{live: found.Live, view: found.Live.View(), server: found.Server}
			sc := newScratch()
			_, _, same := h.sdk.repeats(c, sc, []byte(body(who)), nil)
			require.True(t, same)
			if h.sdk.knownOf(c, sc).list(c.view, c.server) != nil {
				kept++
			}
			quick, usual := h.do("POST", "/api/v1/identities/", key, body(who)), h.do("POST", "/api/v1/identities/", key, " "+body(who))
			require.Equal(t, 200, quick.status)
			require.Equal(t, usual.body, quick.body)
		}
	}
	require.Greater(t, kept, 2000)
}
