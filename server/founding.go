package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
)

// The account of --demo without --admin-email, and the organisation of an installation that names none.
const (
	demoEmail           = "admin@example.com"
	demoPassword        = "flagraft-Demo-1!"
	defaultOrganisation = "My organisation"
)

// found is the loop that gives an empty installation its backup, or its first user, organisation and example project, when the settings name
// them. It acts whenever this node has become the leader, and does nothing where there is something.
func (n *Node) found(ctx context.Context) {
	for n.founding.Wait(ctx) {
		if !n.namesAccount() && n.settings.RestoreFrom == "" {
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
			n.log.Warn("founding", "error", err)
			pause(ctx, time.Second)
		}
	}
}

// foundingPatience is how long after an installation was born its nodes wait for the first account. A leader whose settings name none never makes it.
const foundingPatience = 30 * time.Second

// awaitsFounding reports whether the first account that the settings name is still to be made: who is told that the node is ready may sign in.
func (n *Node) awaitsFounding() bool {
	s := n.fsm.State()
	if !n.namesAccount() || !s.Born() || n.Clock().Sub(s.Genesis.Time.Std()) >= foundingPatience {
		return false
	}
	for range fsm.Users.Refs(s) {
		return false
	}
	return true
}

func (n *Node) namesAccount() bool { return n.settings.AdminEmail != "" || n.settings.Demo }

// pause waits for d or for ctx; it tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

// foundOnce makes everything in one write, so that an installation is founded whole or not at all.
func (n *Node) foundOnce(ctx context.Context) error {
	if err := n.restoreFile(ctx); err != nil {
		return err
	}
	if !n.namesAccount() {
		return nil
	}
	for range fsm.Users.Refs(n.fsm.State()) {
		return nil // spares a password hash
	}
	email, password := n.firstAccount()
	if password == "" { // nothing to try again: the settings stay as they are until the next start
		n.log.Error("the first account is not made: admin-email needs admin-password", "email", email)
		return nil
	}
	hash, err := n.api.Env.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	name := n.settings.OrganisationName
	if name == "" {
		name = defaultOrganisation
	}
	created := false
	_, err = n.writer.Write(ctx, fsm.Author{}, func(tx *fsm.Tx) error {
		var organisation fsm.Organisation
		_, organisation, created = admin.EnsureAdmin(tx, email, hash, name)
		if created && n.settings.Demo {
			admin.CreateDemo(tx, organisation.ID)
		}
		return nil
	})
	if err == nil && created {
		n.log.Info("first user made", "email", email, "organisation", name, "demo", n.settings.Demo)
	}
	return err
}

// firstAccount is without the white space around its texts: a sign-in is read so.
func (n *Node) firstAccount() (email, password string) {
	if n.settings.AdminEmail == "" && n.settings.Demo {
		return demoEmail, demoPassword
	}
	return strings.TrimSpace(n.settings.AdminEmail), strings.TrimSpace(n.settings.AdminPassword)
}

// Welcome waits until the installation has its example project and returns what a newcomer needs: the address, the sign-in, a line to try.
func (n *Node) Welcome(ctx context.Context) (string, error) {
	environment, err := n.demoEnvironment(ctx)
	if err != nil {
		return "", err
	}
	email, password := n.firstAccount()
	if n.settings.AdminEmail != "" {
		password = "the password of the settings" // not itself: what is printed here is kept with the log
	}
	address := n.originOf(n.APIAddr(), "127.0.0.1")
	return fmt.Sprintf(`
flagraft is ready on %[1]s

  console             %[1]s/
  API documentation   %[1]s/api/v1/docs/
  sign in with        %[2]s / %[3]s
  environment key     %[4]s

  curl -s -H 'X-Environment-Key: %[4]s' %[1]s/api/v1/flags/

`, address, email, password, environment.APIKey), nil
}

// demoEnvironment finds an environment to show, the demo's Production when it is there.
func (n *Node) demoEnvironment(ctx context.Context) (fsm.Environment, error) {
	for index := n.fsm.State().Index; ; index++ {
		var last fsm.Environment
		for e := range fsm.Environments.All(n.fsm.State()) {
			last = e
			if e.Name == "Production" {
				return e, nil
			}
		}
		if last.ID != 0 {
			return last, nil
		}
		if err := n.fsm.Applied().Wait(ctx, index); err != nil {
			return fsm.Environment{}, fmt.Errorf("no environment yet: %w", err)
		}
	}
}
