package portable_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/portable"
)

// seed is a document with one of everything.
func seed(t testing.TB) []byte {
	text, property := "v", "plan"
	state := portable.State{Feature: "f", Enabled: true, Value: portable.Value{Type: "unicode", String: &text}, Variants: []portable.Variant{{Option: 1, Percentage: 30}}, Seed: 7, Version: 1}
	fields, then := []portable.FieldValue{{Field: 1, Value: "me"}}, time.Unix(1, 0).UTC()
	raw, err := json.Marshal(portable.Document{Format: portable.Format, Version: portable.Version, Time: time.Unix(1, 0).UTC(), Organisations: []portable.Organisation{{
		Name: "o", UUID: uuid.UUID{1}, Projects: []portable.Project{{
			Name: "p", CustomFields: []portable.CustomField{{Number: 1, Organisation: true, Name: "owner", Type: "str",
				Kinds: []portable.FieldKind{{Kind: "feature", Organisation: true}, {Kind: "segment"}, {Kind: "environment", Project: true}}}}, Tags: []portable.Tag{{Number: 1, Label: "t"}},
			Features: []portable.Feature{{Name: "f", Type: "MULTIVARIATE", Tags: []int{1}, Options: []portable.Option{{Number: 1, Value: portable.Value{Type: "int"}, Percentage: 50}}, CustomFields: fields}},
			Segments: []portable.Segment{{Number: 1, Name: "s", CustomFields: fields, Rules: []portable.Rule{{Type: "ALL", Rules: []portable.Rule{{Type: "ANY",
				Conditions: []portable.Condition{{Operator: "EQUAL", Property: &property, Value: &text}}}}}}}},
			Environments: []portable.Environment{{Name: "e", APIKey: "key", CustomFields: fields, UseV2FeatureVersioning: true, Versions: []portable.FeatureVersion{
				{Feature: "f", Phase: "live"}, {Feature: "f", Phase: "draft", Default: &state}, {Feature: "f", Phase: "scheduled", LiveFrom: &then, Default: &state,
					SegmentOverrides: []portable.Override{{Segment: 1, State: state}}}}, ServerKeys: []portable.ServerKey{{Key: "ser.x", Name: "k", Active: true}},
				States: []portable.State{state}, SegmentOverrides: []portable.Override{{Segment: 1, State: state}},
				Identities: []portable.Identity{{Identifier: "i", Traits: map[string]portable.Trait{"plan": "gold", "n": 1.5}, Overrides: []portable.State{state}}}}},
		}},
	}}})
	require.NoError(t, err)
	return raw
}

// FuzzImport imports damaged documents: what passes the checks is imported and can be exported again; nothing panics on the way.
func FuzzImport(f *testing.F) {
	f.Add(seed(f))
	f.Add([]byte(`{"format":"flagraft-export","version":1,"organisations":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d *portable.Document
		var err error
		alloc.Bound(t, 64<<10+2000*len(raw), func() { d, err = portable.Parse(raw) })
		if err != nil {
			return
		}
		n := fsmtest.New(t)
		for i := range d.Organisations {
			for j := range d.Organisations[i].Projects {
				importOne(t, n, &d.Organisations[i], &d.Organisations[i].Projects[j])
			}
		}
		require.NoError(t, portable.Write(new(bytes.Buffer), n.FSM.State(), portable.Options{Identities: true, Secrets: true}))
	})
}

// TestTimesBeyondJSON: times of years that JSON has no form for, which older versions stored, end no export.
func TestTimesBeyondJSON(t *testing.T) {
	d, err := portable.Parse(seed(t))
	require.NoError(t, err)
	late, early := time.Date(10000, 1, 1, 9, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 23, 0, 0, 0, time.UTC)
	e := &d.Organisations[0].Projects[0].Environments[0]
	e.Versions[2].LiveFrom, e.States[0].LiveFrom, e.SegmentOverrides[0].State.LiveFrom = &late, &late, &late
	e.ServerKeys = []portable.ServerKey{{Key: "ser.x", Name: "late", ExpiresAt: &late}, {Key: "ser.y", Name: "early", ExpiresAt: &early}}
	n := fsmtest.New(t)
	importOne(t, n, &d.Organisations[0], &d.Organisations[0].Projects[0])

	var out bytes.Buffer
	require.NoError(t, portable.Write(&out, n.FSM.State(), portable.Options{Identities: true, Secrets: true}))
	again, err := portable.Parse(out.Bytes())
	require.NoError(t, err)
	e = &again.Organisations[0].Projects[0].Environments[0]
	years := []int{e.States[0].LiveFrom.Year()}
	for _, k := range e.ServerKeys {
		years = append(years, k.ExpiresAt.Year())
	}
	require.ElementsMatch(t, []int{9999, 9999, 1}, years)
}

func importOne(t *testing.T, n *fsmtest.Node, o *portable.Organisation, p *portable.Project) {
	var ids []uint64
	n.Write(t, func(tx *fsm.Tx) error {
		for range p.Environments {
			ids = append(ids, tx.NextEnvironmentID())
		}
		return nil
	})
	if ops := p.IdentityOps(ids); len(ops) > 0 {
		_, results, err := n.Identities.Write(t.Context(), ops)
		require.NoError(t, err)
		for _, r := range results {
			if r.Status != 0 {
				return // over a limit: the server gives the import up, too
			}
		}
	}
	_, err := n.Writer.Write(t.Context(), fsm.Author{}, func(tx *fsm.Tx) error {
		_, err := p.Import(tx, o, portable.Target{Environments: ids})
		return err
	})
	if err != nil {
		var invalid *portable.Invalid
		require.ErrorAs(t, err, &invalid)
	}
}
