package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureGroup is a group that answers for a feature.
type featureGroup struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
}

// ownedFeature is what the four operations on owners answer.
type ownedFeature struct {
	ID              uint64          `json:"id"`
	Name            string          `json:"name"`
	CreatedDate     fsm.Time        `json:"created_date"`
	Description     *string         `json:"description"`
	InitialValue    *string         `json:"initial_value"`
	DefaultEnabled  bool            `json:"default_enabled"`
	Type            fsm.FeatureType `json:"type"`
	Owners          []userSummary   `json:"owners"`
	GroupOwners     []featureGroup  `json:"group_owners"`
	IsServerKeyOnly bool            `json:"is_server_key_only"`
}

type ownersInput struct {
	featureRef
	Users []uint64 `json:"user_ids" v:"required"`
}

type groupOwnersInput struct {
	featureRef
	Groups []uint64 `json:"group_ids" v:"required"`
}

func featureOwnerRows() []route.Row {
	const detail = "/api/v1/projects/{project_pk}/features/{id}/"
	row := func(name, operation string, h route.Handler) route.Row {
		return route.Row{Method: "POST", Path: detail + name + "/", OperationID: "api_v1_projects_features_" + operation + "_create", Tag: "Features",
			Auth: route.Admin, Permission: ProjectPermission("CREATE_FEATURE", Path("project_pk")).Feature(Path("id")), Kind: route.Write, Handler: h}
	}
	return []route.Row{
		row("add-owners", "add_owners", write(addOwners)),
		row("remove-owners", "remove_owners", write(removeOwners)),
		row("add-group-owners", "add_group_owners", write(addGroupOwners)),
		row("remove-group-owners", "remove_group_owners", write(removeGroupOwners)),
	}
}

func addOwners(c *Ctx, in ownersInput) (ownedFeature, error) {
	return changeOwners(c, in, withIDs)
}

func removeOwners(c *Ctx, in ownersInput) (ownedFeature, error) {
	return changeOwners(c, in, withoutIDs)
}

func addGroupOwners(c *Ctx, in groupOwnersInput) (ownedFeature, error) {
	return changeGroupOwners(c, in, withIDs)
}

func removeGroupOwners(c *Ctx, in groupOwnersInput) (ownedFeature, error) {
	return changeGroupOwners(c, in, withoutIDs)
}

func changeOwners(c *Ctx, in ownersInput, change func(have, ids []uint64) []uint64) (ownedFeature, error) {
	if !c.areUsers(in.Users) {
		return ownedFeature{}, route.NonField("Some users not found")
	}
	f := c.Feature
	f.Owners = change(f.Owners, in.Users)
	return renderOwned(c, fsm.Features.Put(c.Tx, f)), nil
}

func changeGroupOwners(c *Ctx, in groupOwnersInput, change func(have, ids []uint64) []uint64) (ownedFeature, error) {
	if !c.areGroups(in.Groups) {
		return ownedFeature{}, route.NonField("Some groups not found")
	}
	f := c.Feature
	f.GroupOwners = change(f.GroupOwners, in.Groups)
	return renderOwned(c, fsm.Features.Put(c.Tx, f)), nil
}

// areUsers reports whether all are members of the project's organisation.
func (c *Ctx) areUsers(ids []uint64) bool {
	return !slices.ContainsFunc(ids, func(id uint64) bool {
		_, member := RoleOf(c, c.Project.Organisation, id)
		return !member
	})
}

// areGroups reports whether all are groups of the project's organisation.
func (c *Ctx) areGroups(ids []uint64) bool {
	return !slices.ContainsFunc(ids, func(id uint64) bool {
		g := fsm.Groups.Ref(c, id)
		return g == nil || g.Organisation != c.Project.Organisation
	})
}

// withIDs and withoutIDs make new lists: those of rows are shared.
func withIDs(have, ids []uint64) []uint64 {
	all := slices.Concat(have, ids)
	slices.Sort(all)
	return slices.Compact(all)
}

func withoutIDs(have, ids []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(have), func(id uint64) bool { return slices.Contains(ids, id) })
}

func renderOwned(c *Ctx, f fsm.Feature) ownedFeature {
	return ownedFeature{ID: f.ID, Name: f.Name, CreatedDate: f.CreatedDate, Description: f.Description, InitialValue: f.InitialValue,
		DefaultEnabled: f.DefaultEnabled, Type: f.Type, Owners: featureScope{c: c}.owners(f), GroupOwners: groupOwners(c, f),
		IsServerKeyOnly: f.IsServerKeyOnly}
}

// owners lists the owners that still exist.
func (f featureScope) owners(row fsm.Feature) []userSummary {
	out := make([]userSummary, 0, len(row.Owners))
	for _, id := range row.Owners {
		o, known := f.users[id]
		if !known {
			u := renderUser(f.c, id)
			if u == nil {
				continue
			}
			if o = *u; f.users != nil {
				f.users[id] = o
			}
		}
		out = append(out, o)
	}
	return out
}

func groupOwners(r fsm.Reader, row fsm.Feature) []featureGroup {
	out := make([]featureGroup, 0, len(row.GroupOwners))
	for _, id := range row.GroupOwners {
		if g := fsm.Groups.Ref(r, id); g != nil {
			out = append(out, featureGroup{g.ID, g.Name})
		}
	}
	return out
}
