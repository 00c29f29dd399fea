package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

// Answers that are kept for repetitions hold no secret for whoever reads the state, and a repetition gets them all the same.
func TestRememberedAnswersAreSealed(t *testing.T) {
	n := servertest.Start(t)
	require.Eventually(t, func() bool { return n.State().Level() >= 2 }, 20*time.Second, 5*time.Millisecond)
	admin := n.Admin(t)
	org := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "O"}, 201)["id"]
	login := map[string]any{"email": servertest.AdminEmail, "password": servertest.AdminPassword}
	var secrets []string
	for i, do := range []struct {
		client *servertest.Client
		path   string
		body   map[string]any
		status int
	}{
		{n.Client(t), "/api/v1/auth/login/", login, 200},
		{admin, fmt.Sprintf("/api/v1/organisations/%v/master-api-keys/", org), map[string]any{"name": "k", "is_admin": true}, 201},
	} {
		key := fmt.Sprint("distinctive-key-", i)
		c := do.client.With("Idempotency-Key", key)
		first := c.Object("POST", do.path, do.body, do.status)
		again := c.Do("POST", do.path, do.body)
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
		require.Contains(t, again.Raw, first["key"])
		_, hidden, _ := strings.Cut(first["key"].(string), ".")
		secrets = append(secrets, key, first["key"].(string), hidden)
		other := map[string]any{"another": "request"}
		require.Equal(t, 422, c.Do("POST", do.path, other).Status)
	}
	rows := 0
	for k := range fsm.IdempotencyKeys.All(n.State()) {
		rows++
		for _, s := range secrets {
			if s != "" {
				require.NotContains(t, string(k.Body)+k.Key+string(k.Header), s)
			}
		}
		require.NotContains(t, string(k.Body), `"key"`)
	}
	require.Equal(t, 2, rows)

	// One that was stored before the format level rose is found, too.
	path, body := fmt.Sprintf("/api/v1/organisations/%v/master-api-keys/", org), `{"name": "old"}`
	seed := n.State().Genesis.Seed
	mac := hmac.New(sha256.New, seed[:])
	_, _ = fmt.Fprintf(mac, "4:POST%d:%s0:%s", len(path), path, body)
	require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error {
		for u := range fsm.Users.All(tx) {
			fsm.IdempotencyKeys.Put(tx, fsm.IdempotencyKey{Scope: fmt.Sprint("user:", u.ID), Key: "old", Fingerprint: [32]byte(mac.Sum(nil)),
				Status: 201, Header: []byte(`[]`), Body: []byte(`{"kept":true}`), Created: tx.Now()})
		}
		return nil
	}))
	a := admin.With("Idempotency-Key", "old").Do("POST", path, body)
	require.Equal(t, 201, a.Status)
	require.Equal(t, `{"kept":true}`, a.Raw)
}
