package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/webhook"
)

// harness serves the admin API on one node's state, in process. It starts with one organisation, project and environment, an ADMIN and a
// member of the organisation, and a stranger; each of them signs in with a token of that name.
type harness struct {
	*testing.T
	node  *fsmtest.Node
	api   *API
	table *route.Table
	mails []mailed // in the order they went off

	organisation fsm.Organisation
	project      fsm.Project
	environment  fsm.Environment // api key "env-key"
	admin        fsm.User        // token "admin"
	member       fsm.User        // token "member", role USER without permissions
	stranger     fsm.User        // token "stranger", member of nothing
}

func defaultOptions() Options {
	return Options{AllowRegistrationWithoutInvite: true, LoginPerMinute: 20, UsagePerMinute: 5, FeatureValueLimit: 20_000, SegmentConditions: 100}
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	table, err := route.NewTable(Rows())
	require.NoError(t, err)
	h := &harness{T: t, node: fsmtest.New(t), table: table}
	h.api = &API{FSM: h.node.FSM, Writer: h.node.Writer, Env: &Env{
		Log: slog.New(slog.DiscardHandler), Clock: time.Now, Options: defaultOptions(), Throttle: NewThrottle(time.Now), Lockout: NewLockout(time.Now), Version: "test",
		Passwords: plainPasswords{}, Views: h.node.Views, Identities: h.node.Identities, Mailer: h, SiteURL: "https://site.example/",
		Webhooks: webhook.New(5*time.Second, false, "test"),
	}}
	h.node.Writer.Derive(Announce)
	t.Cleanup(func() { h.api.Env.Webhooks.Close() })
	h.node.Write(t, h.found)
	return h
}

// Queue implements Mailer. A write's mails are queued before it is answered.
func (h *harness) Queue(to, subject, body string) {
	h.mails = append(h.mails, mailed{to, subject, body})
}

// found writes the rows that every test starts with.
func (h *harness) found(tx *fsm.Tx) error {
	h.organisation = fsm.Organisations.Put(tx, fsm.Organisation{UUID: tx.NewUUID(), Name: "Org", CreatedDate: tx.Now(), PersistTraitData: true})
	h.project = fsm.Projects.Put(tx, fsm.Project{UUID: tx.NewUUID(), Name: "Project", Organisation: h.organisation.ID, CreatedDate: tx.Now()})
	h.environment = fsm.Environments.Put(tx, fsm.Environment{UUID: tx.NewUUID(), Name: "Env", APIKey: "env-key", Project: h.project.ID,
		CreatedDate: tx.Now(), UpdatedAt: tx.Now(), AllowClientTraits: true, UseCompositeKeyForHashing: true})
	h.admin, h.member, h.stranger = h.user(tx, "admin"), h.user(tx, "member"), h.user(tx, "stranger")
	fsm.Memberships.Put(tx, fsm.Membership{Organisation: h.organisation.ID, User: h.admin.ID, Role: fsm.RoleAdmin, DateJoined: tx.Now()})
	fsm.Memberships.Put(tx, fsm.Membership{Organisation: h.organisation.ID, User: h.member.ID, Role: fsm.RoleUser, DateJoined: tx.Now()})
	return nil
}

// user makes an account whose token is its name.
func (h *harness) user(tx *fsm.Tx, name string) fsm.User {
	u := fsm.Users.Put(tx, fsm.User{UUID: tx.NewUUID(), Email: name + "@example.com", IsActive: true, DateJoined: tx.Now()})
	fsm.Tokens.Put(tx, fsm.Token{User: u.ID, Key: name, Created: tx.Now()})
	return u
}

// grant gives the member permission keys; no keys make it an admin of the object.
func (h *harness) grant(level fsm.Level, object uint64, keys ...string) {
	h.node.Write(h, func(tx *fsm.Tx) error {
		fsm.Permissions.Put(tx, fsm.Permission{Level: level, Object: object, User: h.member.ID, Admin: len(keys) == 0, Permissions: keys})
		return nil
	})
}

// plainPasswords hashes by not hashing.
type plainPasswords struct{}

func (plainPasswords) Hash(_ context.Context, password string) (string, error) {
	return "plain:" + password, nil
}

func (plainPasswords) Verify(_ context.Context, hash, password string) (bool, error) {
	return hash == "plain:"+password, nil
}

// reply is what a request came to.
type reply struct {
	*testing.T
	Status int
	Raw    string
	Answer Answer
}

// do sends a request with a token ("" sends none). body is nil, text that is sent as it is, or a value that is sent as JSON. It returns
// when the Views show what was written.
func (h *harness) do(token, method, target string, body any) reply {
	h.Helper()
	headers := []route.Header{{Name: "Content-Type", Value: "application/json"}}
	if token != "" {
		headers = append(headers, route.Header{Name: "Authorization", Value: "Token " + token})
	}
	return h.send(method, target, body, headers)
}

// send is do with headers of choice.
func (h *harness) send(method, target string, body any, headers []route.Header) reply {
	h.Helper()
	path, query, _ := strings.Cut(target, "?")
	req := &route.Request{Method: method, Path: path, Query: query, Scheme: "http", Host: "server", Remote: "127.0.0.1", Headers: headers}
	switch b := body.(type) {
	case nil:
	case string:
		req.Body = []byte(b)
	default:
		var err error
		req.Body, err = json.Marshal(b)
		require.NoError(h, err)
	}
	m := &route.Match{}
	if !h.table.Lookup([]byte(method), []byte(path), m) {
		require.NotEmpty(h, m.Allow, "no such path: %s", path)
		return reply{T: h.T, Status: 405}
	}
	ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
	defer cancel()
	a, err := h.api.Serve(ctx, m, req)
	require.NoError(h, err, "%s %s", method, target)
	require.NoError(h, h.node.Views.Wait(ctx, a.Written.Index, a.Written.Environments...))
	return reply{T: h.T, Status: a.Status, Raw: string(a.Body), Answer: a}
}

// get, post, put, patch and remove send a request of the organisation's ADMIN and demand a status.
func (h *harness) get(target string, status int) reply {
	h.Helper()
	return h.do("admin", "GET", target, nil).must(status)
}

func (h *harness) post(target string, body any, status int) reply {
	h.Helper()
	return h.do("admin", "POST", target, body).must(status)
}

func (h *harness) put(target string, body any, status int) reply {
	h.Helper()
	return h.do("admin", "PUT", target, body).must(status)
}

func (h *harness) patch(target string, body any, status int) reply {
	h.Helper()
	return h.do("admin", "PATCH", target, body).must(status)
}

func (h *harness) remove(target string, status int) reply {
	h.Helper()
	return h.do("admin", "DELETE", target, nil).must(status)
}

// must demands a status.
func (r reply) must(status int) reply {
	r.Helper()
	require.Equal(r, status, r.Status, r.Raw)
	return r
}

// is demands a body, compared as JSON.
func (r reply) is(want string) reply {
	r.Helper()
	require.JSONEq(r, want, r.Raw)
	return r
}

// body demands a body, byte by byte.
func (r reply) body(want string) reply {
	r.Helper()
	require.Equal(r, want, r.Raw)
	return r
}

// object gives the body, an object.
func (r reply) object() map[string]any {
	r.Helper()
	out := map[string]any{}
	require.NoError(r, json.Unmarshal([]byte(r.Raw), &out), r.Raw)
	return out
}

// list gives the body, an array.
func (r reply) list() []any {
	r.Helper()
	var out []any
	require.NoError(r, json.Unmarshal([]byte(r.Raw), &out), r.Raw)
	return out
}

// id gives the body's id.
func (r reply) id() uint64 {
	r.Helper()
	n, ok := r.object()["id"].(float64)
	require.True(r, ok, r.Raw)
	return uint64(n)
}
