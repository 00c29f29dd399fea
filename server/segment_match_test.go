package server_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const (
	matchPath = "/api/flagraft/v1/environments/env-key/segments/match/"
	countPath = "/api/flagraft/v1/environments/env-key/segments/count/"
)

type matched struct {
	Identity struct {
		Identifier string
		UUID       *string `json:"identity_uuid"`
	}
	Matched bool
	Rules   []ruleTrace
}

// TestRulesMatchAsServed: rules that are sent match whom the segments with the same rules match, counted too.
func TestRulesMatchAsServed(t *testing.T) {
	for _, composite := range []bool{true, false} {
		t.Run(fmt.Sprint("composite ", composite), func(t *testing.T) {
			e := newExplainer(t, composite)
			const people = 40
			for i := range people {
				traits := []map[string]any{{"trait_key": "age", "trait_value": 10 + i}}
				if i%3 == 0 {
					traits = append(traits, map[string]any{"trait_key": "plan", "trait_value": "pro"})
				}
				e.answer(map[string]any{"identifier": fmt.Sprint("user", i), "traits": traits})
			}
			list := e.admin.Object("GET", fmt.Sprintf("/api/v1/projects/%d/segments/", e.proj.ID), nil, 200)["results"].([]any)
			require.Len(t, list, 4)
			for _, s := range list {
				s := s.(map[string]any)
				in := 0
				for i := range people {
					who := fmt.Sprint("user", i)
					served := false
					for _, hit := range e.explain("GET", explainPath+"?identifier="+who, nil).Segments {
						served = served || hit.Name == s["name"]
					}
					got := e.match(map[string]any{"identifier": who, "rules": s["rules"], "segment": s["id"]})
					require.Equal(t, served, got.Matched, "%s in %s", who, s["name"])
					require.NotNil(t, got.Identity.UUID)
					require.Equal(t, got.Matched, got.Rules[0].Matched)
					if served {
						in++
					}
				}
				require.Positive(t, in, s["name"])
				count := e.admin.Object("POST", countPath, map[string]any{"rules": s["rules"], "segment": s["id"]}, 200)
				require.Equal(t, map[string]any{"matched": float64(in), "looked_at": float64(people), "identities": float64(people), "complete": true}, count, s["name"])
			}
		})
	}
}

func (e *explainer) match(body any) (out matched) {
	e.Helper()
	a := e.admin.Do("POST", matchPath, body)
	require.Equal(e, 200, a.Status, a.Raw)
	require.NoError(e, json.Unmarshal([]byte(a.Raw), &out), a.Raw)
	return out
}

func rulesOf(conditions string) string {
	return `"rules":[{"type":"ALL","rules":[{"type":"ANY","conditions":[` + conditions + `]}]}]`
}

// TestRulesMatchTraits: somebody without a name, traits laid over stored ones, and each condition with what it saw.
func TestRulesMatchTraits(t *testing.T) {
	e := newExplainer(t, true)
	adult := rulesOf(`{"operator":"GREATER_THAN_INCLUSIVE","property":"age","value":18},{"operator":"REGEX","property":"mail","value":".*@example\\.com$"}`)
	out := e.match(`{` + adult + `,"traits":[{"trait_key":"age","trait_value":17},{"trait_key":"mail","trait_value":"ann@example.com"}]}`)
	require.True(t, out.Matched)
	conditions := out.Rules[0].Rules[0].Conditions
	require.False(t, conditions[0].Matched)
	require.Equal(t, 17.0, conditions[0].Seen)
	require.True(t, conditions[1].Matched)
	require.False(t, e.match(`{`+adult+`}`).Matched)

	e.answer(map[string]any{"identifier": "ann", "traits": []any{map[string]any{"trait_key": "age", "trait_value": 40}}})
	require.True(t, e.match(`{`+adult+`,"identifier":"ann"}`).Matched)
	require.False(t, e.match(`{`+adult+`,"identifier":"ann","traits":[{"trait_key":"age","trait_value":null}]}`).Matched)
	require.True(t, e.match(`{`+adult+`,"identifier":"ann","traits":[]}`).Matched, "nothing was stored")
	require.True(t, e.match(`{`+rulesOf(`{"operator":"EQUAL","property":"$.environment.name","value":"Env"}`)+`}`).Matched)
	require.NotNil(t, e.match(`{` + rulesOf(`{"operator":"PERCENTAGE_SPLIT","value":"50"}`) + `,"identifier":"ann"}`).Rules[0].Rules[0].Conditions[0].Percentage)
}

func TestRulesToMatchAreRefused(t *testing.T) {
	e := newExplainer(t, true)
	var foreign fsm.Segment
	e.write(func(tx *fsm.Tx) {
		foreign = fsm.Segments.Put(tx, fsm.Segment{UUID: e.uuid(), Name: "foreign", Project: fsm.Projects.Put(tx, fsm.Project{Name: "Other", Organisation: e.proj.Organisation}).ID})
	})
	fine := rulesOf(`{"operator":"EQUAL","property":"a","value":"b"}`)
	for _, path := range []string{matchPath, countPath} {
		for body, want := range map[string]string{
			`{}`: `{"rules":["This field is required."]}`,
			`{` + rulesOf(`{"operator":"EQUAL","property":"a"},{"operator":"LIKE","property":"a"}`) + `}`: `{"rules":[{"rules":[{"conditions":[{},{"operator":["\"LIKE\" is not a valid choice."]}]}]}]}`,
			`{"rules":[{"type":"ALL","rules":[{"type":"ANY","rules":[{"type":"ANY"}]}]}]}`:                `{"segment":["Rules must not be nested more than 2 levels deep."]}`,
			fmt.Sprintf(`{%s,"segment":%d}`, fine, foreign.ID):                                            fmt.Sprintf(`{"segment":["Invalid pk \"%d\" - object does not exist."]}`, foreign.ID),
		} {
			a := e.admin.Do("POST", path, body)
			require.Equal(t, 400, a.Status, a.Raw)
			require.JSONEq(t, want, a.Raw)
		}
	}
	require.Equal(t, 401, e.Client(t).Do("POST", countPath, `{`+fine+`}`).Status)
}
