package fsm_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/fsm/identity"
)

// crowd is an environment whose identities have overrides of about 10 KB each.
type crowd struct {
	*fsmtest.Node
	env     uint64
	feature fsm.Feature
}

func newCrowd(t testing.TB, identities int) *crowd {
	c := &crowd{Node: fsmtest.New(t)}
	c.Write(t, func(tx *fsm.Tx) error {
		o := fsm.Organisations.Put(tx, fsm.Organisation{Name: "o"})
		p := fsm.Projects.Put(tx, fsm.Project{Name: "p", Organisation: o.ID})
		c.env = fsm.Environments.Put(tx, fsm.Environment{Name: "e", APIKey: "key", Project: p.ID, UseIdentityOverridesInLocal: true, UpdatedAt: tx.Now()}).ID
		c.feature = fsm.Features.Put(tx, fsm.Feature{Name: "f", Project: p.ID, Type: fsm.Standard})
		fsm.FeatureStates.Put(tx, fsm.FeatureState{Feature: c.feature.ID, Environment: c.env, Value: text("default")})
		return nil
	})
	var ops []identity.Op
	for i := range identities {
		ops = append(ops, identity.Op{Kind: identity.KindUpsert, Environment: c.env, Identifier: fmt.Appendf(nil, "person-%04d", i)})
	}
	_, _, err := c.Identities.Write(t.Context(), ops)
	require.NoError(t, err)
	c.override(t, identities, "v1")
	return c
}

// override gives the first identities an override.
func (c *crowd) override(t testing.TB, identities int, value string) fsm.Written {
	return c.Write(t, func(tx *fsm.Tx) error {
		for i := range identities {
			rec, ok := tx.Identities().Environment(c.env).Lookup(fmt.Appendf(nil, "person-%04d", i))
			require.True(t, ok)
			state, _ := fsm.FeatureStatesByIdentity.First(tx, rec.ID())
			state.Feature, state.Environment, state.Identity = c.feature.ID, c.env, rec.ID()
			state.Value = text(strings.Repeat(value, 10_000/len(value)))
			fsm.FeatureStates.Put(tx, state)
		}
		tx.TouchEnvironment(c.env)
		return nil
	})
}

func (c *crowd) live(t testing.TB) *fsm.Live {
	l, ok := c.Views.ByID(c.env)
	require.True(t, ok)
	return l
}

// document is what the tests read of one.
type document struct {
	UpdatedAt     string           `json:"updated_at"`
	FeatureStates []map[string]any `json:"feature_states"`
	Project       struct {
		Organisation map[string]any
		Segments     []any
	}
	Overrides []json.RawMessage `json:"identity_overrides"`
}

func parse(t testing.TB, b *fsm.Body) (d document) {
	t.Helper()
	require.NotNil(t, b)
	require.NoError(t, json.Unmarshal(b.Plain, &d), "%.200s", b.Plain)
	return d
}

func TestDocumentPagesAreTheWholeDocument(t *testing.T) {
	c := newCrowd(t, 300)
	v := c.live(t).View()
	whole := parse(t, v.DocumentBody())
	require.Len(t, whole.Overrides, 300)
	first, pages := v.DocumentPage(1)
	require.Equal(t, 4, pages, "of 1 MiB, for 300 × 10.5 KB")
	joined := parse(t, first)
	require.Len(t, joined.FeatureStates, 1)
	for n := 2; n <= pages; n++ {
		b, _ := v.DocumentPage(n)
		require.Less(t, len(b.Plain), fsm.PageBytes+2000)
		d := parse(t, b)
		require.Empty(t, d.FeatureStates)
		require.NotNil(t, d.FeatureStates)
		require.NotNil(t, d.Project.Segments)
		require.NotEmpty(t, d.Project.Organisation)
		require.Equal(t, whole.UpdatedAt, d.UpdatedAt)
		joined.Overrides = append(joined.Overrides, d.Overrides...)
	}
	require.Equal(t, whole, joined)
	for _, n := range []int{-1, 0, pages + 1} {
		b, _ := v.DocumentPage(n)
		require.Nil(t, b)
	}

	small := newCrowd(t, 3).live(t)
	b, pages := small.View().DocumentPage(1)
	require.Equal(t, 1, pages)
	require.Same(t, small.View().DocumentBody(), b)
}

// TestPagesOfThePast cuts the pages of an old index on the node that served the
// first one, and on one that applied the whole log at once and never had that View.
func TestPagesOfThePast(t *testing.T) {
	c := newCrowd(t, 250)
	old := c.live(t).View()
	var want []string
	_, pages := old.DocumentPage(1)
	require.Equal(t, 3, pages)
	for n := 2; n <= pages; n++ {
		b, _ := old.DocumentPage(n)
		want = append(want, string(b.ETag))
	}
	unrelated := c.Write(t, func(tx *fsm.Tx) error {
		fsm.Organisations.Put(tx, fsm.Organisation{Name: "another"})
		return nil
	})
	require.Same(t, old, c.live(t).ViewAt(unrelated.Index), "nothing touched the environment")
	changed := c.override(t, 50, "another value")
	require.NotSame(t, old, c.live(t).View())
	require.Same(t, c.live(t).View(), c.live(t).ViewAt(changed.Index))
	require.Same(t, old, c.live(t).ViewAt(old.Index), "kept: its pages were asked for")

	log := slog.New(slog.DiscardHandler)
	views := fsm.NewViews(log)
	other := fsm.New(log, views)
	defer views.Stop()
	var logs []*raft.Log
	for i, data := range c.Proposer.Log() {
		logs = append(logs, &raft.Log{Index: uint64(i + 1), Type: raft.LogCommand, Data: data})
	}
	other.ApplyBatch(logs)
	require.NoError(t, views.Wait(t.Context(), other.State().Index, c.env))
	l, _ := views.ByID(c.env)
	for _, index := range []uint64{old.Index, unrelated.Index} {
		past := l.ViewAt(index)
		require.NotNil(t, past)
		require.NotSame(t, l.View(), past)
		for n := 2; n <= pages; n++ {
			b, count := past.DocumentPage(n)
			require.Equal(t, pages, count)
			require.Equal(t, want[n-2], string(b.ETag))
		}
		require.Same(t, past, l.ViewAt(index), "rendered once for all readers")
	}
	require.Nil(t, l.ViewAt(1), "the environment did not exist")
}
