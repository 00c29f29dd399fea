package server_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// startAhead starts a node whose clock is ahead until the returned function puts it right.
func startAhead(t *testing.T, by time.Duration, change ...func(*settings.Settings)) (n *servertest.Node, putRight func()) {
	t.Helper()
	var ahead atomic.Int64
	ahead.Store(int64(by))
	n = servertest.StartWith(t, func(n *server.Node) {
		n.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		n.Webhooks = server.WebhookTiming{Tick: 2 * time.Millisecond, Sweep: 5 * time.Millisecond, FirstRetry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond}
	}, change...)
	atLevel(t, n)
	return n, func() { ahead.Store(0) }
}

// TestAfterAClockThatWasAhead: times in the state never go back, but what is due does not wait until the clock gets there again.
func TestAfterAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour

	t.Run("webhooks", func(t *testing.T) {
		t.Parallel()
		n, putRight := startAhead(t, year, func(st *settings.Settings) { st.AllowPrivateHooks, st.LoginPerMinute = true, 0 })
		r := newReceiver(t, 503)
		h := &hookCluster{T: t, nodes: []*servertest.Node{n}}
		h.fill()
		h.switchOn()
		hook := h.hook(r.url)
		first := h.set(1)
		h.eventually(func() bool { return len(r.seen()) > 1 }, "no call")
		putRight()
		r.answer(200)
		h.eventuallyTook(r, append(first, h.set(2)...))
		require.Empty(t, h.log(hook, "given_up"))
	})

	t.Run("backups", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		n, putRight := startAhead(t, year, func(st *settings.Settings) { st.BackupDir = dir })
		admin := n.Admin(t)
		admin.Object("POST", schedulesPath, map[string]any{"name": "daily", "when": "0 3 * * *", "target": "here"}, 201)
		putRight()
		tomorrow := time.Now().Add(25 * time.Hour).UTC().Format(time.RFC3339)
		s := scheduleUntil(t, admin, func(s map[string]any) bool { return s["last_success"] != nil })
		require.Less(t, s["due"], tomorrow, "it was due in a year, and would not have been taken before")
		admin.Object("POST", schedulesPath+"1/run/", nil, 200)
		s = scheduleUntil(t, admin, func(now map[string]any) bool { return now["last_success"] != s["last_success"] })
		require.Less(t, s["due"], tomorrow)
		made := admin.Object("POST", schedulesPath, map[string]any{"name": "other", "when": "6h", "target": "here"}, 201)
		require.Less(t, made["due"], tomorrow)
	})

	t.Run("accounts", func(t *testing.T) {
		t.Parallel()
		n, putRight := startAhead(t, year, func(st *settings.Settings) { st.LoginPerMinute = 0 })
		admin, client := n.Admin(t), n.Client(t)
		putRight()
		secret := admin.Object("POST", "/api/v1/auth/app/activate/", `{}`, 200)["secret"].(string)
		code := func(at time.Time) map[string]any {
			code, err := totp.GenerateCode(secret, at)
			require.NoError(t, err)
			return map[string]any{"code": code}
		}
		began := time.Now()
		admin.Object("POST", "/api/v1/auth/app/activate/confirm/", code(began), 200)
		login := map[string]any{"email": servertest.AdminEmail, "password": servertest.AdminPassword}
		second := code(began)
		second["ephemeral_token"] = client.Object("POST", "/api/v1/auth/login/", login, 200)["ephemeral_token"]
		client.Object("POST", "/api/v1/auth/login/code/", second, 200)

		login["password"] = "wrong"
		for range 10 {
			client.Do("POST", "/api/v1/auth/login/", login)
		}
		for u := range fsm.Users.All(n.State()) {
			require.NotZero(t, u.LockedUntil)
			require.Less(t, u.LockedUntil, fsm.TimeOf(time.Now().Add(time.Hour)))
		}
	})

	t.Run("features", func(t *testing.T) {
		t.Parallel()
		n, putRight := startAhead(t, year)
		admin := n.Admin(t)
		project := admin.Object("POST", "/api/v1/projects/", fmt.Sprintf(`{"name":"P","organisation":%v}`,
			admin.Object("POST", "/api/v1/organisations/", `{"name":"O"}`, 201)["id"]), 201)["id"]
		e := admin.Object("POST", "/api/v1/environments/", fmt.Sprintf(`{"name":"E","project":%v}`, project), 201)["id"]
		admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), `{"name":"f"}`, 201)
		putRight()
		page := admin.Object("GET", fmt.Sprintf("/api/v1/projects/%v/features/?environment=%v", project, e), nil, http.StatusOK)
		require.NotNil(t, page["results"].([]any)[0].(map[string]any)["environment_feature_state"])
	})
}

// TestWhatExpiresGoesByTheClock: after a clock that was ahead, keys that are good until tomorrow are good, and links end when they should.
func TestWhatExpiresGoesByTheClock(t *testing.T) {
	t.Parallel()
	n, putRight := startAhead(t, 365*24*time.Hour, func(st *settings.Settings) { st.LoginPerMinute = 0 })
	admin, client := n.Admin(t), n.Client(t)
	organisation := admin.Object("POST", "/api/v1/organisations/", `{"name":"O"}`, 201)["id"]
	project := admin.Object("POST", "/api/v1/projects/", fmt.Sprintf(`{"name":"P","organisation":%v}`, organisation), 201)["id"]
	putRight()
	tomorrow := time.Now().Add(24 * time.Hour).UTC()
	below := fmt.Sprintf("/api/v1/organisations/%v/", organisation)

	key := admin.Object("POST", below+"master-api-keys/", map[string]any{"name": "k", "is_admin": true, "expiry_date": tomorrow.Format(time.RFC3339)}, 201)
	require.Equal(t, false, key["has_expired"])
	client.With("Authorization", fmt.Sprintf("Api-Key %v", key["key"])).Object("GET", "/api/v1/projects/"+fmt.Sprint(project)+"/", nil, 200)

	link := admin.Object("POST", below+"invite-links/", map[string]any{"role": "USER", "expires_at": tomorrow.Format(time.RFC3339)}, 201)
	admin.Object("POST", fmt.Sprintf("/api/v1/users/join/link/%v/", link["hash"]), nil, 200)

	require.Equal(t, http.StatusNoContent, client.Do("POST", "/api/v1/auth/users/reset_password/", map[string]any{"email": servertest.AdminEmail}).Status)
	links := 0
	for token := range fsm.OneTimeTokens.All(n.State()) {
		if token.User != 0 {
			links++
			require.Less(t, token.Expires, fsm.TimeOf(tomorrow.Add(time.Hour)), "it would be good for a year")
		}
	}
	require.Equal(t, 1, links)
}

// TestOneNodesClockMovesNothing: the usage counts of a node whose clock is ahead must not carry the time of the state there, or what is
// scheduled would go live before its time, and every date be one of the future.
func TestOneNodesClockMovesNothing(t *testing.T) {
	t.Parallel()
	clocks := map[*server.Node]*atomic.Int64{}
	nodes := servertest.ClusterOf(t, 2, func(n *server.Node) {
		ahead := new(atomic.Int64)
		clocks[n] = ahead
		n.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	h := &hookCluster{T: t, nodes: nodes}
	h.fill()
	key := ""
	for e := range fsm.Environments.All(nodes[0].State()) {
		key = e.APIKey
	}
	soon := time.Now().Add(time.Hour)
	wrong := nodes[1]
	clocks[wrong.Node].Store(int64(24 * time.Hour))
	h.eventually(func() bool {
		return wrong.Client(t).With("X-Environment-Key", key).Do("GET", "/api/v1/flags/", nil).Status == http.StatusOK
	}, "no flags")
	require.NoError(t, wrong.Stop(t.Context())) // sends what was counted
	h.eventually(func() bool {
		for u := range fsm.Usages.All(nodes[0].State()) {
			require.Less(t, u.Bucket, fsm.TimeOf(soon), "a day that has not begun")
			return true
		}
		return false
	}, "nothing was counted")
	require.Less(t, nodes[0].State().Time, fsm.TimeOf(soon))
}
