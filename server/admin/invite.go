package admin

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// inviteJSON is an invitation as the answer that makes one shows it.
type inviteJSON struct {
	ID               uint64   `json:"id"`
	Email            string   `json:"email"`
	Role             fsm.Role `json:"role"`
	DateCreated      fsm.Time `json:"date_created"`
	PermissionGroups []uint64 `json:"permission_groups"`
}

// inviteOfMany is inviteJSON where several are made at once.
type inviteOfMany struct {
	inviteJSON
	InvitedBy *inviterName `json:"invited_by"`
}

type inviterName struct {
	ID        uint64 `json:"id"`
	Email     string `json:"email"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

// inviteItem is an invitation that was made; the reference does not show its role.
type inviteItem struct {
	ID               uint64   `json:"id"`
	Email            string   `json:"email"`
	DateCreated      fsm.Time `json:"date_created"`
	InvitedBy        *inviter `json:"invited_by"` // null: a key, or somebody who is gone
	PermissionGroups []uint64 `json:"permission_groups"`
}

// inviter is a user with the role in the organisation, if any.
type inviter struct {
	ID         uint64    `json:"id"`
	Email      string    `json:"email"`
	FirstName  string    `json:"first_name"`
	LastName   string    `json:"last_name"`
	LastLogin  fsm.Time  `json:"last_login"`
	UUID       uuid.UUID `json:"uuid"`
	Role       *fsm.Role `json:"role"`
	DateJoined fsm.Time  `json:"date_joined"`
}

type inviteRef struct {
	ID uint64 `path:"id"`
}

type inviteInput struct {
	Email            string   `json:"email" v:"required,email,max=254"`
	Role             fsm.Role `json:"role" v:"choice=ADMIN|USER,default=USER"`
	PermissionGroups []uint64 `json:"permission_groups" v:"pk"`
}

// manyInvites takes invitations in full, or, the older way, addresses only. Where the links in the mails point is not the caller's to say.
type manyInvites struct {
	Invites []inviteInput `json:"invites"`
	Emails  []string      `json:"emails" v:"email"`
}

// invitesPerMinute is the reference's limit of requests that send mails, per user.
const invitesPerMinute = 10

func inviteRows() []route.Row {
	const list, detail = "/api/v1/organisations/{organisation_pk}/invites/", "/api/v1/organisations/{organisation_pk}/invites/{id}/"
	admin := OrganisationAdmin(Path("organisation_pk")).Saying(MsgInsufficient)
	few := Custom("few invitations", inviteThrottle)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_organization_invites", Tag: "Invites", Auth: route.Admin, Permission: admin,
			Handler: read(listInvites)},
		{Method: "POST", Path: list, OperationID: "create_organization_invite", Tag: "Invites", Summary: "Invite somebody by mail.", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Status: 201, Handler: write(createInvite)},
		{Method: "GET", Path: detail, OperationID: "api_v1_organisations_invites_retrieve", Tag: "Invites", Auth: route.Admin, Permission: admin,
			Handler: read(getInvite)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_organisations_invites_destroy", Tag: "Invites", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Status: 204, Handler: write(deleteInvite)},
		{Method: "POST", Path: detail + "resend/", OperationID: "api_v1_organisations_invites_resend_create", Tag: "Invites", Auth: route.Admin,
			Permission: All(admin, few), Refusals: throttled, Kind: route.Write, Handler: write(resendInvite)},
		{Method: "POST", Path: "/api/v1/organisations/{id}/invite/", OperationID: "api_v1_organisations_invite_create", Tag: "Invites",
			Summary: "Invite several people by mail.", Auth: route.Admin, Permission: All(OrganisationAdmin(Path("id")), Custom("a user", needsUser), few), Refusals: throttled,
			Kind: route.Write, Status: 201, Handler: write(createInvites)},
	}
}

func inviteThrottle(c *Ctx) error { return c.Limit("invite:"+c.Principal.Scope(), invitesPerMinute) }

// needsUser refuses keys, which are nobody to invite in the name of.
func needsUser(c *Ctx) error {
	if c.Principal.User == nil {
		return route.PermissionDenied()
	}
	return nil
}

func listInvites(c *Ctx, _ struct{}) (route.Page[inviteItem], error) {
	return paginate(c, fsm.InvitesByOrganisation.List(c, c.Organisation.ID), c.renderInvite)
}

func createInvite(c *Ctx, in inviteInput) (inviteJSON, error) {
	if err := c.checkInvite(in, "email"); err != nil {
		return inviteJSON{}, err
	}
	return renderNewInvite(c.invite(in)), nil
}

func createInvites(c *Ctx, in manyInvites) ([]inviteOfMany, error) {
	for _, email := range in.Emails {
		in.Invites = append(in.Invites, inviteInput{Email: email, Role: fsm.RoleUser})
	}
	u := c.Principal.User
	out := make([]inviteOfMany, 0, len(in.Invites))
	for _, one := range in.Invites {
		if err := c.checkInvite(one, "emails"); err != nil {
			return nil, err
		}
		out = append(out, inviteOfMany{renderNewInvite(c.invite(one)),
			&inviterName{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName}})
	}
	return out, nil
}

func getInvite(c *Ctx, in inviteRef) (inviteItem, error) {
	i, err := findInvite(c, in)
	return c.renderInvite(i), err
}

func deleteInvite(c *Ctx, in inviteRef) (route.Empty, error) {
	i, err := findInvite(c, in)
	if err != nil {
		return c.fail(err)
	}
	fsm.Invites.Delete(c.Tx, i.ID)
	return c.OK()
}

func resendInvite(c *Ctx, in inviteRef) (route.Empty, error) {
	i, err := findInvite(c, in)
	if err != nil {
		return c.fail(err)
	}
	c.mailInvite(i)
	return c.OK()
}

func findInvite(c *Ctx, in inviteRef) (fsm.Invite, error) {
	i, ok := fsm.Invites.Get(c, in.ID)
	if !ok || i.Organisation != c.Organisation.ID {
		return fsm.Invite{}, route.NotFound(fsm.Invites.Name())
	}
	return i, nil
}

// checkInvite refuses groups of others, and a second invitation of one address; field is where the latter is said.
func (c *Ctx) checkInvite(in inviteInput, field string) error {
	if err := seatFree(c, c.Organisation); err != nil {
		return err
	}
	errs := &route.Errors{}
	for _, id := range in.PermissionGroups {
		if g, ok := fsm.Groups.Get(c, id); !ok || g.Organisation != c.Organisation.ID {
			errs.Add("permission_groups", route.InvalidPKText(id))
		}
	}
	for i := range fsm.InvitesByEmail.Refs(c, strings.ToLower(in.Email)) {
		if i.Organisation == c.Organisation.ID {
			errs.Add(field, "Invite for email "+in.Email+" already exists")
		}
	}
	return errs.Err()
}

// invite stores an invitation and mails it.
func (c *Ctx) invite(in inviteInput) fsm.Invite {
	i := fsm.Invites.Put(c.Tx, fsm.Invite{Organisation: c.Organisation.ID, Hash: credential.NewInviteHash(), Email: in.Email, Role: in.Role,
		DateCreated: c.Now(), InvitedBy: c.Principal.UserID(), Groups: withIDs(nil, in.PermissionGroups)})
	c.mailInvite(i)
	return i
}

func (c *Ctx) mailInvite(i fsm.Invite) {
	by := ""
	if u := c.Principal.User; u != nil {
		by = " by " + u.Email
	}
	c.Mail(i.Email, "Invitation to "+c.Organisation.Name, fmt.Sprintf("You are invited%s to join the organisation %q.\n\nTo accept, sign in or sign up with this address at\n\n%s\n",
		by, c.Organisation.Name, c.Env.Link("invite/"+i.Hash)))
}

func renderNewInvite(i fsm.Invite) inviteJSON {
	return inviteJSON{ID: i.ID, Email: i.Email, Role: i.Role, DateCreated: i.DateCreated, PermissionGroups: i.Groups}
}

func (c *Ctx) renderInvite(i fsm.Invite) inviteItem {
	out := inviteItem{ID: i.ID, Email: i.Email, DateCreated: i.DateCreated, PermissionGroups: i.Groups}
	if u := fsm.Users.Ref(c, i.InvitedBy); u != nil {
		out.InvitedBy = &inviter{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, LastLogin: u.LastLogin, UUID: u.UUID,
			DateJoined: u.DateJoined}
		if role, ok := RoleOf(c, i.Organisation, u.ID); ok {
			out.InvitedBy.Role = &role
		}
	}
	return out
}
