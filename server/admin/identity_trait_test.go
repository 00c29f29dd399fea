package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func TestTraits(t *testing.T) {
	h := newHarness(t)
	path, _ := h.newIdentity("alice")
	h.get(path+"traits/", 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	for _, c := range []struct{ sent, want string }{
		{`{"trait_key":"plan","value_type":"unicode","string_value":"pro"}`, `"trait_key":"plan","value_type":"unicode","integer_value":null,"string_value":"pro","boolean_value":null,"float_value":null`},
		{`{"trait_key":"name","string_value":"\u4e16"}`, `"trait_key":"name","value_type":"unicode","integer_value":null,"string_value":"\u4e16","boolean_value":null,"float_value":null`},
		{`{"trait_key":"n","value_type":"int","integer_value":5}`, `"trait_key":"n","value_type":"int","integer_value":5,"string_value":null,"boolean_value":null,"float_value":null`},
		{`{"trait_key":"f","value_type":"float","float_value":5}`, `"trait_key":"f","value_type":"float","integer_value":null,"string_value":null,"boolean_value":null,"float_value":5.0`},
		{`{"trait_key":"b","value_type":"bool","boolean_value":true}`, `"trait_key":"b","value_type":"bool","integer_value":null,"string_value":null,"boolean_value":true,"float_value":null`},
	} {
		r := h.post(path+"traits/", c.sent, 201)
		require.Contains(t, r.Raw, c.want)
		require.NotZero(t, r.id())
		h.get(fmt.Sprintf("%straits/%d/", path, r.id()), 200).is(r.Raw)
	}
	for _, c := range []struct{ sent, want string }{
		{`{}`, `{"trait_key":["This field is required."]}`},
		{`{"trait_key":"b2","value_type":"list"}`, `{"value_type":["\"list\" is not a valid choice."]}`},
		{`{"trait_key":"x","value_type":"int"}`, `{"integer_value":["This field is required."]}`},
		{`{"trait_key":"x","string_value":null}`, `{"string_value":["This field may not be null."]}`},
		{`{"trait_key":"x","value_type":"int","integer_value":2147483648}`, `{"integer_value":["Ensure this value is less than or equal to 2147483647."]}`},
		{`{"trait_key":"` + strings.Repeat("k", 201) + `","string_value":"v"}`, `{"trait_key":["Ensure this field has no more than 200 characters."]}`},
		{`{"trait_key":"plan","string_value":"again"}`, `{"non_field_errors":["The fields trait_key, identity must make a unique set."]}`},
	} {
		h.post(path+"traits/", c.sent, 400).is(c.want)
	}
}

func TestUpdateTrait(t *testing.T) {
	h := newHarness(t)
	path, _ := h.newIdentity("alice")
	trait := fmt.Sprintf("%straits/%d/", path, h.post(path+"traits/", `{"trait_key":"plan","string_value":"pro"}`, 201).id())
	h.post(path+"traits/", `{"trait_key":"other","string_value":"x"}`, 201)

	require.Contains(t, h.put(trait, `{"trait_key":"plan","value_type":"unicode","string_value":"gold"}`, 200).Raw, `"string_value":"gold"`)
	require.Contains(t, h.patch(trait, `{"string_value":"pro"}`, 200).Raw, `"string_value":"pro"`)
	require.Contains(t, h.patch(trait, `{"trait_key":"tariff"}`, 200).Raw, `"trait_key":"tariff","value_type":"unicode","integer_value":null,"string_value":"pro"`)
	require.Contains(t, h.patch(trait, `{"value_type":"int","integer_value":7}`, 200).Raw, `"integer_value":7,"string_value":null`)
	require.Contains(t, h.get(trait, 200).Raw, `"trait_key":"tariff","value_type":"int","integer_value":7`)
	h.patch(trait, `{"value_type":"bool"}`, 400).is(`{"boolean_value":["This field is required."]}`)
	h.patch(trait, `{"trait_key":"other"}`, 400)
	h.put(trait, `{"string_value":"x"}`, 400).is(`{"trait_key":["This field is required."]}`)
	h.remove(trait, 204)
	h.get(trait, 404).is(`{"detail":"No Trait matches the given query."}`)
	h.patch(trait, `{"string_value":"x"}`, 404)
}

func TestDeleteAllMatchingTraits(t *testing.T) {
	h := newHarness(t)
	var trait, other string
	for _, name := range []string{"a", "b"} {
		path, _ := h.newIdentity(name)
		trait = fmt.Sprintf("%straits/%d/", path, h.post(path+"traits/", `{"trait_key":"gone","string_value":"1"}`, 201).id())
		other = fmt.Sprintf("%straits/%d/", path, h.post(path+"traits/", `{"trait_key":"kept","string_value":"1"}`, 201).id())
	}
	h.remove(trait+"?deleteAllMatchingTraits=true", 204)
	h.get(other, 200)
	for rec := range h.node.FSM.State().Identities().Environment(h.environment.ID).All {
		require.Equal(t, 1, rec.TraitCount())
	}
}

func TestTraitsAreNotPersisted(t *testing.T) {
	h := newHarness(t)
	path, id := h.newIdentity("alice")
	h.node.Write(t, func(tx *fsm.Tx) error {
		h.organisation.PersistTraitData = false
		fsm.Organisations.Put(tx, h.organisation)
		return nil
	})
	h.post(path+"traits/", `{"trait_key":"a","string_value":"b"}`, 403).is(`{"detail":"Organisation is not authorised to store traits."}`)
	h.put(h.edgePath(id)+"update-traits/", `{"trait_key":"a","trait_value":"b"}`, 400).is(`{"detail":"A server error occurred."}`)
}
