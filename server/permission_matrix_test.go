package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// need is one thing that the permission of a row names.
type need struct {
	level fsm.Level
	key   string // of the level's catalogue; "admin" or "member"
}

var (
	levels    = map[string]fsm.Level{"organisation": fsm.LevelOrganisation, "project": fsm.LevelProject, "environment": fsm.LevelEnvironment}
	needWords = regexp.MustCompile(`organisation|project|environment|\bmember\b|(?i)\badmin\b|[A-Z]+_[A-Z_]+`)
)

// needs reads the name of a permission: "project permission VIEW_PROJECT, for other users project admin" names two.
func needs(r *route.Row) (all []need) {
	if r.Permission == nil {
		return nil
	}
	var level fsm.Level
	for _, w := range needWords.FindAllString(r.Permission.Name(), -1) {
		if l, ok := levels[w]; ok {
			level = l
		} else {
			if strings.EqualFold(w, "admin") {
				w = "admin"
			}
			all = append(all, need{level, w})
		}
	}
	return all
}

// matrix plays the scripts, each request first as those who may not, then as somebody who may, and no more.
type matrix struct {
	*script
	node      *servertest.Node
	catalogue map[fsm.Level][]string
	inactive  string // tokens
	stranger  string
	solo      string
	soloID    uint64
	strange   string          // key of the stranger's organisation
	byKey     bool            // an organisation key does what is done
	refused   map[string]bool // operations
	userOnly  map[string]bool // that refused every key
}

func newMatrix(t *testing.T) *matrix {
	n := servertest.Start(t, func(st *settings.Settings) { st.LoginPerMinute, st.UsagePerMinute, st.EmailActivation = 0, 0, true })
	atLevel(t, n)
	m := &matrix{node: n, catalogue: map[fsm.Level][]string{}, refused: map[string]bool{}, userOnly: map[string]bool{}}
	m.script = &script{T: t, nodes: []*servertest.Node{n}, kept: map[string]string{}, admin: n.Token(t)}
	for name, level := range levels {
		for _, v := range n.Admin(t).List("GET", "/api/v1/"+name+"s/permissions/", nil, 200) {
			m.catalogue[level] = append(m.catalogue[level], v.(map[string]any)["key"].(string))
		}
		require.NotEmpty(t, m.catalogue[level])
	}
	user := func(name string) (uint64, string) {
		a := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": name + "@example.com", "password": "Sesame-open-2!", "first_name": name, "last_name": "x"}, 201)
		id := m.number(fmt.Sprint(a["id"]))
		m.activate(id, true)
		return id, a["key"].(string)
	}
	var id uint64
	id, m.inactive = user("inactive")
	m.activate(id, false)
	_, m.stranger = user("stranger")
	c := n.Client(t).With("Authorization", "Token "+m.stranger)
	org := c.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Elsewhere"}, 201)["id"]
	m.strange = c.Object("POST", fmt.Sprintf("/api/v1/organisations/%v/master-api-keys/", org), map[string]any{"name": "k", "is_admin": true}, 201)["key"].(string)
	m.soloID, m.solo = user("solo")
	return m
}

func (m *matrix) activate(user uint64, active bool) {
	m.write(func(tx *fsm.Tx) {
		u, _ := fsm.Users.Get(tx, user)
		u.IsActive = active
		fsm.Users.Put(tx, u)
	})
}

// grant gives solo the rights that allowed says, on everything there is outside the stranger's organisation.
func (m *matrix) grant(member bool, role fsm.Role, allowed func(need) bool) {
	m.write(func(tx *fsm.Tx) {
		for _, p := range fsm.PermissionsByUser.List(tx, m.soloID) {
			fsm.Permissions.Delete(tx, p.ID)
		}
		for _, s := range fsm.MembershipsByUser.List(tx, m.soloID) {
			fsm.Memberships.Delete(tx, s.ID)
		}
		if !member {
			return
		}
		give := func(level fsm.Level, object uint64) {
			p := fsm.Permission{Level: level, Object: object, User: m.soloID, Admin: allowed(need{level, "admin"})}
			for _, key := range m.catalogue[level] {
				if allowed(need{level, key}) {
					p.Permissions = append(p.Permissions, key)
				}
			}
			fsm.Permissions.Put(tx, p)
		}
		for o := range fsm.Organisations.All(tx) {
			if o.Name == "Elsewhere" {
				continue
			}
			fsm.Memberships.Put(tx, fsm.Membership{Organisation: o.ID, User: m.soloID, Role: role})
			give(fsm.LevelOrganisation, o.ID)
		}
		for p := range fsm.Projects.All(tx) {
			give(fsm.LevelProject, p.ID)
		}
		for e := range fsm.Environments.All(tx) {
			give(fsm.LevelEnvironment, e.ID)
		}
	})
}

// only gives solo what a row needs and nothing else; without it, everything else.
func (m *matrix) only(all []need) {
	role := fsm.RoleUser
	if slices.Contains(all, need{fsm.LevelOrganisation, "admin"}) {
		role = fsm.RoleAdmin
	}
	m.grant(true, role, func(n need) bool { return slices.Contains(all, n) && n != need{fsm.LevelOrganisation, "admin"} })
}

func (m *matrix) without(all []need) {
	// The admin of a thing, or of what it is in, has all its rights: a table row's own meaning.
	m.grant(!slices.Contains(all, need{fsm.LevelOrganisation, "member"}), fsm.RoleUser, func(n need) bool { return n.key != "admin" && !slices.Contains(all, n) })
}

// ask sends a request with some credentials.
func (m *matrix) ask(method, path, body, credentials string) servertest.Answer {
	c := m.node.Client(m.T)
	if credentials != "" {
		c = c.With("Authorization", credentials)
	}
	if body == "" {
		return c.Do(method, path, nil)
	}
	return c.Do(method, path, body)
}

// refuse sends a request as everybody who may not.
func (m *matrix) refuse(row *route.Row, method, path, body string) {
	m.Helper()
	switch row.Auth {
	case route.Admin, route.User, route.Superuser:
	default:
		return
	}
	for _, credentials := range []string{"", "Token " + m.inactive, "Token 0000", "Api-Key nobody.nothing"} {
		a := m.ask(method, path, body, credentials)
		require.Equal(m, http.StatusUnauthorized, a.Status, "%s %s as %q: %s", method, path, credentials, a.Raw)
	}
	all := needs(row)
	if len(all) == 0 && len(row.Params()) == 0 {
		return
	}
	no := func(who string, a servertest.Answer) {
		require.Contains(m, []int{400, 403, 404, 405}, a.Status, "%s %s as %s: %s", method, path, who, a.Raw)
	}
	no("a stranger", m.ask(method, path, body, "Token "+m.stranger))
	if row.Auth == route.Admin {
		no("a strange key", m.ask(method, path, body, "Api-Key "+m.strange))
	}
	m.refused[row.OperationID] = true
	if len(all) == 0 {
		return
	}
	m.without(all)
	no("one with every other right", m.ask(method, path, body, "Token "+m.solo))
}

// attempt does a step of writes.txt.
func (m *matrix) attempt(line int, d *step) {
	m.Helper()
	d.row = rowOf(m.node, d.method, d.path)
	require.NotNil(m, d.row, "line %d: no row", line)
	if d.token != m.admin {
		d.answer = m.send(d, m.node)
		require.Less(m, d.answer.Status, 300, "line %d: %s", line, d.answer.Raw)
		return
	}
	m.refuse(d.row, d.method, d.path, d.body)
	d.answer = m.allow(d.row, d.method, d.path, d.body, 0)
	require.Less(m, d.answer.Status, 300, "line %d: %s %s needs %v: %s", line, d.method, d.path, needs(d.row), d.answer.Raw)
}

// allow sends a request as somebody who may, and no more than that. status is what success looks like where it is not 2xx.
func (m *matrix) allow(row *route.Row, method, path, body string, status int) servertest.Answer {
	all := needs(row)
	if len(all) == 0 {
		return m.ask(method, path, body, "Token "+m.admin)
	}
	if m.byKey && row.Auth == route.Admin {
		for _, key := range m.organisationKeys() {
			if a := m.ask(method, path, body, "Api-Key "+key); a.Status < 300 || a.Status == status {
				return a
			}
		}
		m.userOnly[row.OperationID] = true
	}
	m.only(all)
	return m.ask(method, path, body, "Token "+m.solo)
}

// organisationKeys are keys of every organisation but the stranger's.
func (m *matrix) organisationKeys() (all []string) {
	for o := range fsm.Organisations.All(m.node.State()) {
		if o.Name == "Elsewhere" {
			continue
		}
		name := fmt.Sprint("key", o.ID)
		if m.kept[name] == "" {
			m.only([]need{{fsm.LevelOrganisation, "admin"}})
			a := m.ask("POST", fmt.Sprintf("/api/v1/organisations/%d/master-api-keys/", o.ID), `{"name":"matrix","is_admin":true}`, "Token "+m.solo)
			require.Equal(m, http.StatusCreated, a.Status, a.Raw)
			m.keep(name+"=key", a.Raw)
		}
		all = append(all, m.kept[name])
	}
	return all
}

// byUsersOnly are the rows that ask for account or key and then refuse keys, as they are about the caller.
var byUsersOnly = []string{
	"api_v1_environments_my_permissions_retrieve",
	"api_v1_organisations_invite_create",
	"api_v1_organisations_my_permissions_retrieve",
	"api_v1_projects_my_permissions_retrieve",
}

// openRows are the rows for whom an account or a key is enough: what they answer is about the caller.
var openRows = []string{
	"api_v1_audit_list",
	"api_v1_auth_activate_confirm_create",
	"api_v1_auth_activate_create",
	"api_v1_auth_deactivate_create",
	"api_v1_auth_logout_create",
	"api_v1_auth_mfa_user_active_methods_retrieve",
	"api_v1_auth_token_destroy",
	"api_v1_auth_users_list",
	"api_v1_auth_users_me_destroy",
	"api_v1_auth_users_me_onboarding_partial_update",
	"api_v1_auth_users_me_partial_update",
	"api_v1_auth_users_me_retrieve",
	"api_v1_auth_users_me_update",
	"api_v1_auth_users_set_email_create",
	"api_v1_auth_users_set_password_create",
	"api_v1_environments_permissions_list",
	"api_v1_metadata_fields_list",
	"api_v1_oauth_authorize_create",
	"api_v1_oauth_authorize_retrieve",
	"api_v1_organisations_create",
	"api_v1_organisations_permissions_retrieve",
	"api_v1_projects_list",
	"api_v1_projects_migrate_to_edge_create",
	"api_v1_projects_permissions_list",
	"api_v1_users_join_create",
	"api_v1_users_join_link_create",
	"list_environments",
	"list_feature_segments",
	"list_organizations",
}

// TestPermissionMatrix sends every read and every write as nobody, as a user who is no longer active, with wrong credentials, as the
// administrator and with the key of another organisation, and as a member with every right but those that the row names: all are refused.
// Then it is done by a member who has nothing but those rights; the second time by the organisation's key.
func TestPermissionMatrix(t *testing.T) {
	t.Parallel()
	for _, byKey := range []bool{false, true} {
		t.Run(map[bool]string{false: "by members", true: "by keys"}[byKey], func(t *testing.T) {
			m := newMatrix(t)
			m.byKey = byKey
			raw, err := os.ReadFile("testdata/writes.txt")
			require.NoError(t, err)
			m.script.attempt = m.attempt
			for i, line := range strings.Split(string(raw), "\n") {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					m.line(i+1, line)
				}
			}

			r := newMatrix(t)
			r.byKey, r.refused, r.userOnly = byKey, m.refused, m.userOnly
			for _, q := range r.reads() {
				if q.header != "Authorization" {
					continue
				}
				if slices.Contains(openRows, q.row.OperationID) && strings.Contains(q.path, "?") && q.row.OperationID != "api_v1_oauth_authorize_retrieve" {
					a := r.ask(q.method, q.path, q.body, "Token "+r.stranger)
					require.True(t, a.Status >= 400 || a.Raw == "[]" || strings.HasPrefix(a.Raw, `{"count":0,`), "%s %s: %s", q.method, q.path, a.Raw)
				}
				r.refuse(q.row, q.method, q.path, q.body)
				a := r.allow(q.row, q.method, q.path, q.body, q.status)
				require.Equal(t, q.status, a.Status, "%s %s needs %v: %s", q.method, q.path, needs(q.row), a.Raw)
			}

			open := []string{}
			for _, row := range m.node.Rows() {
				if guarded := row.Auth == route.Admin || row.Auth == route.User; guarded && !m.refused[row.OperationID] && strings.HasPrefix(row.Path, "/api/v1/") {
					open = append(open, row.OperationID)
				}
			}
			slices.Sort(open)
			require.Equal(t, openRows, open, "a row that is new here was refused to nobody: does it have its line in testdata/reads.txt or writes.txt?")
			if byKey {
				require.Equal(t, byUsersOnly, slices.Sorted(maps.Keys(m.userOnly)))
			}
		})
	}
}
