package admin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func TestEnsureAdmin(t *testing.T) {
	h := empty(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		u, o, created := EnsureAdmin(tx, "Root@Example.com", "plain:secret-word-7", "Acme")
		require.True(t, created)
		require.True(t, u.IsSuperuser)
		require.Equal(t, "Acme", o.Name)
		_, _, again := EnsureAdmin(tx, "other@example.com", "x", "Other")
		require.False(t, again)
		return nil
	})
	key := h.do("", "POST", "/api/v1/auth/login/", `{"email":"root@example.com","password":"secret-word-7"}`).must(200).object()["key"].(string)
	list := h.do(key, "GET", "/api/v1/organisations/", nil).must(200).object()["results"].([]any)
	require.Equal(t, "ADMIN", list[0].(map[string]any)["role"])
}

func TestDemo(t *testing.T) {
	h := newHarness(t)
	var d Demo
	h.node.Write(t, func(tx *fsm.Tx) error {
		d = CreateDemo(tx, h.organisation.ID)
		return nil
	})
	require.Len(t, d.Environments, 2)
	s := h.node.FSM.State()
	for _, e := range d.Environments {
		require.Equal(t, 4, fsm.FeatureStatesByEnvironment.Count(s, e.ID, fsm.StateDefault))
		require.Equal(t, 1, fsm.FeatureStatesByEnvironment.Count(s, e.ID, fsm.StateSegment))
	}
	key, ok := h.node.Views.ByKey([]byte(d.ServerKey))
	require.True(t, ok && key.Server)
}
