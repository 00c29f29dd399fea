package admin

import (
	"strconv"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Ref says where a request names the object that a permission is about.
type Ref struct {
	source refSource
	name   string
}

type refSource uint8

const (
	fromPath refSource = iota
	fromPathID
	fromQuery
	fromBody
)

// Path is a path parameter: the id of an organisation or project, the client-side key of an environment.
func Path(name string) Ref { return Ref{fromPath, name} }

// PathID is a path parameter that holds an environment's integer id.
func PathID(name string) Ref { return Ref{fromPathID, name} }

// Query is a query parameter holding an id.
func Query(name string) Ref { return Ref{fromQuery, name} }

// Body is a member of the body holding an id, read before the body is validated: without it the caller is refused, not told what is
// missing (FACTS §7).
func Body(name string) Ref { return Ref{fromBody, name} }

// id reads an integer id.
func (ref Ref) id(c *Ctx) (uint64, bool) {
	switch ref.source {
	case fromBody:
		n, ok := c.BodyMember(ref.name).Int()
		return uint64(max(n, 0)), ok && n > 0
	case fromQuery:
		return parseID(c.Query().Get(ref.name))
	}
	return parseID(c.Param(ref.name))
}

func parseID(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return n, err == nil && n > 0
}

// Scoped is a permission on one organisation, project or environment. Its methods make variants; the plain one refuses with the stock 403,
// whether the object exists or not.
type Scoped struct {
	name    string
	model   string
	load    func(*Ctx) (bool, error) // finds the object and puts it into the Ctx; an error is the answer
	allowed func(*Ctx) bool
	visible func(*Ctx) bool // with hidden: who is told 403 instead of 404

	hidden  bool   // 404 instead of 403
	missing bool   // 404 when the object does not exist
	message string // of the 403
	refusal error
}

// Name describes the permission.
func (s Scoped) Name() string { return s.name }

// Hidden answers 404 "No X matches the given query." to those who may not see the object; who sees a project without holding the
// permission still gets 403.
func (s Scoped) Hidden() Scoped {
	s.hidden, s.missing = true, true
	return s
}

// Missing404 answers 404 when the object does not exist, and 403 when it may not be seen.
func (s Scoped) Missing404() Scoped {
	s.missing = true
	return s
}

// Saying sets the text of the 403.
func (s Scoped) Saying(message string) Scoped {
	s.message = message
	return s
}

// Refusing sets the whole refusal.
func (s Scoped) Refusing(err error) Scoped {
	s.refusal = err
	return s
}

// Check implements route.Permission.
func (s Scoped) Check(call *route.Call) error {
	c := From(call)
	found, err := s.load(c)
	switch {
	case err != nil:
		return err
	case !found && s.missing:
		return route.NotFound(s.model)
	case !found:
		return s.refuse(false)
	case s.allowed(c):
		return nil
	}
	return s.refuse(s.visible != nil && s.visible(c))
}

func (s Scoped) refuse(visible bool) error {
	switch {
	case s.refusal != nil:
		return s.refusal
	case s.hidden && !visible:
		return route.NotFound(s.model)
	case s.message != "":
		return route.Forbidden(s.message)
	}
	return route.PermissionDenied()
}

// MsgInsufficient is what the reference says in views nested below an organisation.
const MsgInsufficient = "User does not have sufficient privileges to perform this action"

// OrganisationMember lets any member in; c.Organisation is set.
func OrganisationMember(ref Ref) Scoped {
	return organisation("organisation member", ref, func(c *Ctx) bool { return c.IsMember(c.Organisation.ID) })
}

// OrganisationAdmin lets organisation ADMINs and its keys in; c.Organisation is set.
func OrganisationAdmin(ref Ref) Scoped {
	return organisation("organisation ADMIN", ref, func(c *Ctx) bool { return c.IsOrganisationAdmin(c.Organisation.ID) })
}

// OrganisationPermission asks for a key of the organisation's catalogue; c.Organisation is set.
func OrganisationPermission(key string, ref Ref) Scoped {
	return organisation("organisation permission "+key, ref, func(c *Ctx) bool { return c.HasOrganisation(c.Organisation.ID, key) })
}

func organisation(name string, ref Ref, allowed func(*Ctx) bool) Scoped {
	return Scoped{name: name, model: fsm.Organisations.Name(), allowed: allowed, load: func(c *Ctx) (bool, error) {
		id, ok := ref.id(c)
		if !ok {
			if ref.source == fromPath {
				return false, route.BareArray("Invalid organisation ID")
			}
			return false, nil
		}
		c.Organisation, ok = fsm.Organisations.Get(c, id)
		return ok, nil
	}}
}

// ProjectPermission asks for a key of the project's catalogue; c.Project is set.
func ProjectPermission(key string, ref Ref) Scoped {
	return project("project permission "+key, ref, func(c *Ctx) bool { return c.HasProject(c.Project, key) })
}

// ProjectAdmin asks for admin rights on the project; c.Project is set.
func ProjectAdmin(ref Ref) Scoped {
	return project("project admin", ref, func(c *Ctx) bool { return c.IsProjectAdmin(c.Project) })
}

func project(name string, ref Ref, allowed func(*Ctx) bool) Scoped {
	visible := func(c *Ctx) bool { return c.HasProject(c.Project, "VIEW_PROJECT") }
	return Scoped{name: name, model: fsm.Projects.Name(), allowed: allowed, visible: visible, load: func(c *Ctx) (bool, error) {
		id, ok := ref.id(c)
		if !ok {
			return false, nil
		}
		c.Project, ok = fsm.Projects.Get(c, id)
		return ok, nil
	}}
}

// EnvironmentPermission asks for a key of the environment's catalogue; c.Environment and c.Project are set.
func EnvironmentPermission(key string, ref Ref) Scoped {
	return environment("environment permission "+key, ref, func(c *Ctx) bool { return c.HasEnvironment(c.Environment, key) })
}

// EnvironmentAdmin asks for admin rights on the environment; c.Environment and c.Project are set.
func EnvironmentAdmin(ref Ref) Scoped {
	return environment("environment admin", ref, func(c *Ctx) bool { return c.IsEnvironmentAdmin(c.Environment) })
}

func environment(name string, ref Ref, allowed func(*Ctx) bool) Scoped {
	return Scoped{name: name, model: fsm.Environments.Name(), allowed: allowed, load: func(c *Ctx) (ok bool, err error) {
		if ref.source == fromPath {
			c.Environment, ok = fsm.EnvironmentsByAPIKey.First(c, c.Param(ref.name))
		} else if id, isID := ref.id(c); isID {
			c.Environment, ok = fsm.Environments.Get(c, id)
		}
		if ok {
			c.Project, ok = fsm.Projects.Get(c, c.Environment.Project)
		}
		return ok, nil
	}}
}

// Feature loads c.Feature too: the feature named by ref, which must belong to the project that the permission is about; else 404.
func (s Scoped) Feature(ref Ref) route.Permission {
	return Custom(s.name, func(c *Ctx) error {
		if err := s.Check(c.Call); err != nil {
			return err
		}
		id, ok := ref.id(c)
		if !ok {
			return route.NotFoundDetail()
		}
		f, ok := fsm.Features.Get(c, id)
		if !ok || f.Project != c.Project.ID {
			return route.NotFound(fsm.Features.Name())
		}
		c.Feature = f
		return nil
	})
}

// Custom is a permission of its own; check returns the refusal or nil and may put what it finds into the Ctx.
func Custom(name string, check func(*Ctx) error) route.Permission { return custom{name, check} }

type custom struct {
	name  string
	check func(*Ctx) error
}

func (p custom) Name() string              { return p.name }
func (p custom) Check(c *route.Call) error { return p.check(From(c)) }

// All asks for every one of several permissions, in order.
func All(ps ...route.Permission) route.Permission {
	name := ""
	for i, p := range ps {
		if i > 0 {
			name += " and "
		}
		name += p.Name()
	}
	return Custom(name, func(c *Ctx) error {
		for _, p := range ps {
			if err := p.Check(c.Call); err != nil {
				return err
			}
		}
		return nil
	})
}
