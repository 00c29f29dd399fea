package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// found is the loop that gives an empty installation its first user, organisation and example project, when the settings name them. It acts
// whenever this node has become the leader, and does nothing where there are users.
func (n *Node) found(ctx context.Context) {
	for n.founding.Wait(ctx) {
		if n.settings.AdminEmail == "" && !n.settings.Demo {
			continue
		}
		for ctx.Err() == nil {
			err := n.foundOnce(ctx)
			if err == nil {
				break
			}
			if !n.cluster.IsLeader() {
				break // the next leader does it
			}
			n.log.Warn("first user", "error", err)
			pause(ctx, time.Second)
		}
	}
}

// Founded reports whether this node has made the first user since its start.
func (n *Node) Founded() bool { return n.foundingToken.Load() != nil }

// FoundingToken is the token of the first user, when this node has just made it: for tests and for the example project.
func (n *Node) FoundingToken() string {
	if t := n.foundingToken.Load(); t != nil {
		return *t
	}
	return ""
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errFounded says that there are users already.
var errFounded = errors.New("the installation has users")

// The account of --demo without --admin-email.
const (
	demoEmail    = "admin@example.com"
	demoPassword = "flagraft-demo"
)

func (n *Node) foundOnce(ctx context.Context) error {
	email, password := n.settings.AdminEmail, n.settings.AdminPassword
	if email == "" {
		email, password = demoEmail, demoPassword
	}
	if password == "" {
		return errors.New("admin-email needs admin-password")
	}
	token, err := n.firstUser(ctx, email, password)
	if errors.Is(err, errFounded) {
		return nil
	}
	if err != nil {
		return err
	}
	n.foundingToken.Store(&token)
	n.log.Info("first user made", "email", email)
	if n.settings.Demo {
		return n.demo(token)
	}
	if n.settings.OrganisationName != "" {
		_, err := n.ask(token, http.MethodPost, "/api/v1/organisations/", map[string]any{"name": n.settings.OrganisationName})
		return err
	}
	return nil
}

// firstUser makes a superuser and its token, unless there is a user.
func (n *Node) firstUser(ctx context.Context, email, password string) (token string, err error) {
	if _, any := firstUserOf(n.fsm.State()); any {
		return "", errFounded
	}
	hash, err := n.api.Env.Passwords.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	token = credential.NewToken()
	_, err = n.writer.Write(ctx, fsm.Author{}, func(tx *fsm.Tx) error {
		if _, any := firstUserOf(tx); any {
			return errFounded
		}
		u := fsm.Users.Put(tx, fsm.User{UUID: tx.NewUUID(), Email: strings.ToLower(email), PasswordHash: hash,
			FirstName: "Admin", LastName: "User", IsActive: true, IsSuperuser: true, DateJoined: tx.Now()})
		fsm.Tokens.Put(tx, fsm.Token{User: u.ID, Key: token, Created: tx.Now()})
		return nil
	})
	return token, err
}

func firstUserOf(r fsm.Reader) (*fsm.User, bool) {
	for u := range fsm.Users.Refs(r) {
		return u, true
	}
	return nil, false
}

// ask sends a request through the route table as a client with that token would, on this node.
func (n *Node) ask(token, method, path string, body any) (map[string]any, error) {
	req := &route.Request{Method: method, Path: path, Scheme: "http", Host: "localhost", Remote: "local",
		Headers: []route.Header{{Name: "Authorization", Value: "Token " + token}, {Name: "Content-Type", Value: "application/json"}},
		Body:    route.AppendJSON(nil, body)}
	var m route.Match
	if !n.server.table.Lookup([]byte(method), []byte(path), &m) {
		return nil, fmt.Errorf("%s %s: no such row", method, path)
	}
	r := n.server.typed(&m, req)
	if r.Status >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	out := map[string]any{}
	return out, json.Unmarshal(r.Body, &out)
}

// demo fills the installation with an organisation, a project, two environments and a few flags.
func (n *Node) demo(token string) error {
	name := n.settings.OrganisationName
	if name == "" {
		name = "Demo"
	}
	org, err := n.ask(token, http.MethodPost, "/api/v1/organisations/", map[string]any{"name": name})
	if err != nil {
		return err
	}
	project, err := n.ask(token, http.MethodPost, "/api/v1/projects/", map[string]any{"name": "Demo project", "organisation": org["id"]})
	if err != nil {
		return err
	}
	for _, e := range []string{"Development", "Production"} {
		env, err := n.ask(token, http.MethodPost, "/api/v1/environments/", map[string]any{"name": e, "project": project["id"]})
		if err != nil {
			return err
		}
		n.log.Info("demo environment", "name", e, "key", env["api_key"])
	}
	for _, f := range []map[string]any{
		{"name": "new_checkout", "default_enabled": true, "description": "A plain switch."},
		{"name": "banner_text", "default_enabled": true, "initial_value": "Hello from flagraft"},
		{"name": "page_size", "default_enabled": true, "initial_value": "25"},
	} {
		if _, err := n.ask(token, http.MethodPost, fmt.Sprintf("/api/v1/projects/%v/features/", project["id"]), f); err != nil {
			return err
		}
	}
	return nil
}
