package admin

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A permission of a row loads the object it is about into the Ctx and asks
// whether the principal may. It is a value, so that rows read as a table:
//
//	Permission: onProject(path("project_pk"), viewProject)
//	Permission: onEnvironment(path("environment_api_key"), updateFeatureState)
//
// What an absent or forbidden object is answered with follows the reference
// (PERMISSIONS, FACTS §20) and is changed with hidden and the load functions.
type permission struct {
	name   string
	load   func(c *Ctx) error // finds the object; its error is the answer
	allow  func(c *Ctx) bool
	refuse func(c *Ctx) error // the answer when allow says no
}

// Name implements [route.Permission].
func (p permission) Name() string { return p.name }

// Check implements [route.Permission].
func (p permission) Check(call *route.Call) error {
	c := call.State.(*Ctx)
	if err := p.load(c); err != nil {
		return err
	}
	if p.allow(c) {
		return nil
	}
	return p.refuse(c)
}

// hidden answers a refusal like an absent object, with 404.
func (p permission) hidden(model string) permission {
	p.refuse = func(*Ctx) error { return route.NotFound(model) }
	load := p.load
	p.load = func(c *Ctx) error {
		if err := load(c); err != nil {
			return route.NotFound(model)
		}
		return nil
	}
	return p
}

// text changes the words of a refusal.
func (p permission) text(msg string) permission {
	p.refuse = func(*Ctx) error { return route.Forbidden(msg) }
	return p
}

func denied(*Ctx) error { return route.PermissionDenied() }

// source is where a row names an object: its text, or "".
type source func(c *Ctx) string

func path(name string) source { return func(c *Ctx) string { return c.Param(name) } }

func query(name string) source { return func(c *Ctx) string { return c.Query().Get(name) } }

func body(name string) source {
	return func(c *Ctx) string {
		if s, ok := c.BodyMember(name).Str(); ok {
			return s
		}
		return ""
	}
}

// id reads an object id; 0 is no id.
func (s source) id(c *Ctx) uint64 {
	n, err := strconv.ParseUint(s(c), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// The rules of the organisation level beside the keys of the catalogue.
const (
	organisationAdmin = "ADMIN"
	member            = "member"
)

// Words of refusals below an organisation.
const insufficientPrivileges = "User does not have sufficient privileges to perform this action"

// onOrganisation asks for organisationAdmin, member, or a permission key. Unknown
// and foreign organisations are 403 alike.
func onOrganisation(from source, rule string) permission {
	return permission{
		name: "organisation " + rule,
		load: func(c *Ctx) error {
			text := from(c)
			if _, err := strconv.ParseUint(text, 10, 64); err != nil && text != "" {
				return route.BareArray("Invalid organisation ID")
			}
			o, ok := fsm.Organisations.Get(c.Reader, from.id(c))
			if !ok {
				return route.PermissionDenied()
			}
			c.Organisation = o
			return nil
		},
		allow: func(c *Ctx) bool {
			switch rule {
			case organisationAdmin:
				return c.isOrganisationAdmin(c.Organisation.ID)
			case member:
				return c.isMember(c.Organisation.ID)
			default:
				return c.hasOrganisation(c.Organisation.ID, rule)
			}
		},
		refuse: denied,
	}
}

// projectAdmin and environmentAdmin are the rules that ask for an admin row.
const (
	projectAdmin     = ""
	environmentAdmin = ""
)

// onProject asks for a permission key, or projectAdmin. A project the principal
// cannot view is 404, one it can view but not so act on 403.
func onProject(from source, key string) permission {
	return projectPermission(key, func(c *Ctx) (fsm.Project, bool) {
		return fsm.Projects.Get(c.Reader, from.id(c))
	})
}

func projectPermission(key string, find func(*Ctx) (fsm.Project, bool)) permission {
	name := "project " + key
	if key == projectAdmin {
		name = "project admin"
	}
	return permission{
		name: name,
		load: func(c *Ctx) (err error) {
			var ok bool
			if c.Project, ok = find(c); !ok {
				return route.NotFound("Project")
			}
			return nil
		},
		allow: func(c *Ctx) bool { return c.hasProject(&c.Project, key) },
		refuse: func(c *Ctx) error {
			if !c.hasProject(&c.Project, viewProject) {
				return route.NotFound("Project")
			}
			return route.PermissionDenied()
		},
	}
}

// forbidden answers an absent object like a forbidden one, with 403: the
// reference does so where the object is named by the body, or above the resource.
func (p permission) forbidden() permission {
	load := p.load
	p.load = func(c *Ctx) error {
		if err := load(c); err != nil {
			return route.PermissionDenied()
		}
		return nil
	}
	p.refuse = denied
	return p
}

// onEnvironment asks for a permission key, or environmentAdmin, on the
// environment with that client-side key: unknown is 404, forbidden 403. Below an
// environment use it with forbidden.
func onEnvironment(from source, key string) permission {
	return environmentPermission(key, func(c *Ctx) (fsm.Environment, bool) {
		return fsm.EnvironmentsByAPIKey.First(c.Reader, from(c))
	})
}

// onEnvironmentID is onEnvironment by integer id.
func onEnvironmentID(from source, key string) permission {
	return environmentPermission(key, func(c *Ctx) (fsm.Environment, bool) {
		return fsm.Environments.Get(c.Reader, from.id(c))
	})
}

func environmentPermission(key string, find func(*Ctx) (fsm.Environment, bool)) permission {
	name := "environment " + key
	if key == environmentAdmin {
		name = "environment admin"
	}
	return permission{
		name: name,
		load: func(c *Ctx) (err error) {
			var ok bool
			if c.Environment, ok = find(c); !ok {
				return route.NotFound("Environment")
			}
			if c.Project, ok = fsm.Projects.Get(c.Reader, c.Environment.Project); !ok {
				return route.NotFound("Environment")
			}
			return nil
		},
		allow:  func(c *Ctx) bool { return c.hasEnvironment(&c.Environment, key) },
		refuse: denied,
	}
}

// feature loads the feature named by from and asks that it belongs to the
// project that p loaded.
func (p permission) feature(from source) permission {
	load := p.load
	p.load = func(c *Ctx) error {
		if err := load(c); err != nil {
			return err
		}
		f, ok := fsm.Features.Get(c.Reader, from.id(c))
		if !ok || f.Project != c.Project.ID {
			return route.NotFound("Feature")
		}
		c.Feature = f
		return nil
	}
	return p
}

// byUUID asks for a permission on the project of an object found by uuid, which
// find names; everything else is 404 with the model's name.
func byUUID(model string, from source, find func(*Ctx, uuid.UUID) (project uint64, ok bool)) permission {
	return projectPermission(viewProject, func(c *Ctx) (fsm.Project, bool) {
		id, err := uuid.Parse(from(c))
		if err != nil {
			return fsm.Project{}, false
		}
		project, ok := find(c, id)
		if !ok {
			return fsm.Project{}, false
		}
		return fsm.Projects.Get(c.Reader, project)
	}).hidden(model)
}
