package admin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// newEdgeIdentity creates an identity through the uuid face and gives its path.
func (h *harness) newEdgeIdentity(body string) (path string, created reply) {
	h.Helper()
	created = h.post(envPath+"edge-identities/", body, 201)
	return fmt.Sprintf("%sedge-identities/%s/", envPath, created.object()["identity_uuid"]), created
}

func TestEdgeIdentityLifecycle(t *testing.T) {
	h := newHarness(t)
	path, created := h.newEdgeIdentity(`{"identifier":"alice","dashboard_alias":"The BOSS"}`)
	require.Regexp(t, `^{"identity_uuid":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}","identifier":"alice","dashboard_alias":"the boss"}$`, created.Raw)
	h.get(path, 200).is(created.Raw)
	h.post(envPath+"edge-identities/", `{"identifier":"alice"}`, 400).is(`["Identity with identifier: alice already exists"]`)
	h.post(envPath+"edge-identities/", `{}`, 400).is(`{"identifier":["This field is required."]}`)
	h.post(envPath+"edge-identities/", `{"identifier":"x","dashboard_alias":"`+strings.Repeat("a", 101)+`"}`, 400).
		is(`{"dashboard_alias":["Ensure this field has no more than 100 characters."]}`)

	h.put(path, `{}`, 200).is(created.Raw)
	h.patch(path, `{"dashboard_alias":"Chief","identifier":"ignored"}`, 200).is(strings.Replace(created.Raw, "the boss", "chief", 1))
	h.put(path, `{"dashboard_alias":""}`, 400).is(`{"dashboard_alias":["This field may not be blank."]}`)
	h.get(path, 200).is(strings.Replace(created.Raw, "the boss", "chief", 1))

	// the other face shows the same identity
	listed := h.get(envPath+"identities/", 200).object()["results"].([]any)
	require.Len(t, listed, 1)
	h.remove(path, 204)
	h.get(path, 404).is(`{"detail":"Not found."}`)
	h.remove(path, 404)
	h.get(envPath+"edge-identities/not-a-uuid/", 404).is(`{"detail":"Not found."}`)
	h.get(envPath+"identities/", 200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
}

func TestAliasOfAnOverriddenIdentityMovesUpdatedAt(t *testing.T) {
	h := newHarness(t)
	path, _ := h.newEdgeIdentity(`{"identifier":"alice","dashboard_alias":"boss"}`)
	h.post(path+"edge-featurestates/", map[string]any{"feature": h.feature(`{"name":"f"}`), "enabled": true}, 201)
	before := h.updatedAt()
	h.put(path, `{"dashboard_alias":"Chief"}`, 200)
	require.Greater(t, h.updatedAt(), before)
	before = h.updatedAt()
	h.put(path, `{"dashboard_alias":"CHIEF"}`, 200)
	other, _ := h.newEdgeIdentity(`{"identifier":"without overrides"}`)
	h.put(other, `{"dashboard_alias":"x"}`, 200)
	require.Equal(t, before, h.updatedAt())
}

func TestListEdgeIdentities(t *testing.T) {
	h := newHarness(t)
	h.get(envPath+"edge-identities/", 200).is(`{"results":[],"last_evaluated_key":null}`)
	for i, name := range []string{"b2", "a1", "b1", "B3", "c1"} {
		h.newEdgeIdentity(fmt.Sprintf(`{"identifier":%q,"dashboard_alias":"Team %d"}`, name, i%2))
	}
	h.newEdgeIdentity(`{"identifier":"without alias"}`)
	// walk lists all pages of a search.
	walk := func(query string) (names []string, pages int) {
		for key := ""; ; pages++ {
			page := h.get(envPath+"edge-identities/?"+query+"&last_evaluated_key="+url.QueryEscape(key), 200).object()
			for _, i := range page["results"].([]any) {
				names = append(names, i.(map[string]any)["identifier"].(string))
			}
			next, more := page["last_evaluated_key"].(string)
			if !more {
				return names, pages + 1
			}
			key = next
		}
	}
	for _, c := range []struct {
		query string
		names []string
		pages int
	}{
		{"page_size=100", []string{"B3", "a1", "b1", "b2", "c1", "without alias"}, 1},
		{"page_size=1000", []string{"B3", "a1", "b1", "b2", "c1", "without alias"}, 1},
		{"page_size=2", []string{"B3", "a1", "b1", "b2", "c1", "without alias"}, 3},
		{"page_size=1&q=b", []string{"b1", "b2"}, 2},
		{"q=" + url.QueryEscape(`"b1"`), []string{"b1"}, 1},
		{"q=" + url.QueryEscape(`"b"`), nil, 1},
		{"q=dashboard_alias:TEAM+1", []string{"a1", "B3"}, 1},
		{"page_size=1&q=dashboard_alias:team", []string{"b2", "b1", "c1", "a1", "B3"}, 5},
		{"page_size=2&q=" + url.QueryEscape(`dashboard_alias:"Team 0"`), []string{"b2", "b1", "c1"}, 2},
		{"q=" + url.QueryEscape(`dashboard_alias:"team"`), nil, 1},
	} {
		names, pages := walk(c.query)
		require.Equal(t, c.names, names, c.query)
		require.Equal(t, c.pages, pages, c.query)
	}
	h.get(envPath+"edge-identities/?q=", 400).is(`{"q":["This field may not be blank."]}`)
	h.get(envPath+"edge-identities/?page_size=many", 400).is(`{"page_size":["A valid integer is required."]}`)
	h.get(envPath+"edge-identities/?last_evaluated_key=%25%25", 400).is(`{"last_evaluated_key":["Not a key of this list."]}`)
	h.get(envPath+"edge-identities/?last_evaluated_key=bm8ganNvbg==", 400)
}

func TestEdgeTraits(t *testing.T) {
	h := newHarness(t)
	path, _ := h.newEdgeIdentity(`{"identifier":"alice"}`)
	for _, c := range []struct{ sent, stored string }{
		{`"pro"`, `"pro"`}, {`"007"`, `7`}, {`"-0"`, `0`}, {`"1.50"`, `1.5`}, {`"1e3"`, `"1e3"`}, {`5`, `5`}, {`2.0`, `2.0`}, {`true`, `true`},
		{`"true"`, `"true"`}, {`{"a":1}`, `"{'a': 1}"`}, {`"\u00e9"`, `"\u00e9"`}, {`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`""`, `""`}, {`null`, `null`}, {`null`, `null`},
	} {
		r := h.put(path+"update-traits/", `{"trait_key":"t","trait_value":`+c.sent+`}`, 200)
		require.Equal(t, `{"trait_key":"t","trait_value":`+c.stored+`}`, r.Raw)
		want := `[{"trait_key":"t","trait_value":` + c.stored + `}]`
		if c.stored == "null" {
			want = `[]`
		}
		require.Equal(t, want, h.get(path+"list-traits/", 200).Raw)
	}
	for _, c := range []struct{ sent, want string }{
		{`[]`, `{"detail":"Request data must be a JSON object."}`},
		{`{}`, `{"trait_key":["This field is required."],"trait_value":["This field is required."]}`},
		{`{"trait_key":"","trait_value":1}`, `{"trait_key":["This field may not be blank."]}`},
		{`{"trait_key":"t","trait_value":"` + strings.Repeat("x", 2001) + `"}`, `{"trait_value":["Value string is too long. Must be less than 2000 character"]}`},
	} {
		h.put(path+"update-traits/", c.sent, 400).is(c.want)
	}
	h.put(envPath+"edge-identities/5f0c1b9a-0000-4000-8000-000000000000/update-traits/", `{"trait_key":"t","trait_value":1}`, 404)

	index := h.node.FSM.State().Index
	h.put(path+"update-traits/", `{"trait_key":"t","trait_value":null}`, 200)
	require.Equal(t, index, h.node.FSM.State().Index, "what changes nothing is not written")
}

func TestDeletingAnEdgeIdentityIsBooked(t *testing.T) {
	h := newHarness(t)
	f := h.flag("flag", text("default"))
	path, _ := h.newEdgeIdentity(`{"identifier":"alice"}`)
	h.post(path+"edge-featurestates/", map[string]any{"feature": f.ID, "enabled": true}, 201)
	h.remove(path, 204)
	require.Equal(t, []string{
		"Feature override created for feature 'flag' and identity 'alice'",
		"Feature override deleted for feature 'flag' and identity 'alice'",
	}, h.booked())
	require.Zero(t, fsm.FeatureStatesByEnvironment.Count(h.node.FSM.State(), h.environment.ID, fsm.StateIdentity))
}

// FuzzEdgeKey reads keys as clients may mangle them: each is either refused or comes back from its own encoding.
func FuzzEdgeKey(f *testing.F) {
	f.Add("")
	f.Add("eyJpZGVudGlmaWVyIjoiYSJ9")
	f.Add("e30=")
	f.Add("%%")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseEdgeKey(text)
		if err != nil || key == nil {
			require.Equal(t, text == "", err == nil)
			return
		}
		raw, err := json.Marshal(key)
		require.NoError(t, err)
		again, err := parseEdgeKey(base64.URLEncoding.EncodeToString(raw))
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}
