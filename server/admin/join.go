package admin

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

type joinRef struct {
	Hash string `path:"hash"`
}

func joinRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/users/join/{hash}/", OperationID: "api_v1_users_join_create", Tag: "Invites",
			Summary: "Accept an invitation that came by mail.", Auth: route.User, Kind: route.Write, Handler: write(joinByInvite)},
		{Method: "POST", Path: "/api/v1/users/join/link/{hash}/", OperationID: "api_v1_users_join_link_create", Tag: "Invites",
			Summary: "Join an organisation through an invite link.", Auth: route.User, Permission: Custom("invite links are allowed", inviteLinksAllowed),
			Kind: route.Write, Handler: write(joinByLink)},
	}
}

// joinByInvite uses the invitation up.
func joinByInvite(c *Ctx, in joinRef) (organisationJSON, error) {
	i, ok := fsm.InvitesByHash.First(c, in.Hash)
	if !ok {
		return organisationJSON{}, route.NotFound(fsm.Invites.Name())
	}
	if !strings.EqualFold(i.Email, c.Principal.User.Email) {
		return organisationJSON{}, route.BadRequest("Registered email does not match invited email")
	}
	out, err := c.join(i.Organisation, i.Role)
	if err != nil {
		return organisationJSON{}, err
	}
	for _, group := range i.Groups {
		if g, ok := fsm.Groups.Get(c, group); ok && g.Organisation == i.Organisation {
			addGroupMember(c.Tx, group, c.Principal.UserID())
		}
	}
	fsm.Invites.Delete(c.Tx, i.ID)
	return out, nil
}

func joinByLink(c *Ctx, in joinRef) (organisationJSON, error) {
	l, ok := fsm.InviteLinksByHash.First(c, in.Hash)
	if !ok {
		return organisationJSON{}, route.NotFound(fsm.InviteLinks.Name())
	}
	if expired(l, c.Wall()) {
		return organisationJSON{}, route.BadRequest("Invite has expired")
	}
	return c.join(l.Organisation, l.Role)
}

// join makes the caller a member. Who is one keeps the role.
func (c *Ctx) join(organisation uint64, role fsm.Role) (organisationJSON, error) {
	o, err := find(c, fsm.Organisations, organisation)
	if err != nil {
		return organisationJSON{}, err
	}
	if !c.IsMember(o.ID) {
		if err := seatFree(c, o); err != nil {
			return organisationJSON{}, err
		}
		addMember(c.Tx, o.ID, c.Principal.UserID(), role)
	}
	return c.renderOrganisation(o), nil
}
