package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// inviteLinkJSON is a link that everybody who knows it may join through.
type inviteLinkJSON struct {
	ID          uint64   `json:"id"`
	Hash        string   `json:"hash"`
	DateCreated fsm.Time `json:"date_created"`
	Role        fsm.Role `json:"role"`
	ExpiresAt   fsm.Time `json:"expires_at"`
}

type inviteLinkInput struct {
	Role      fsm.Role `json:"role" v:"choice=ADMIN|USER,default=USER"`
	ExpiresAt fsm.Time `json:"expires_at" v:"null"`
}

func inviteLinkRows() []route.Row {
	const list = "/api/v1/organisations/{organisation_pk}/invite-links/"
	admin := OrganisationAdmin(Path("organisation_pk")).Saying(MsgInsufficient)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_organisations_invite_links_list", Tag: "Invites", Auth: route.Admin, Permission: admin,
			Handler: read(listInviteLinks)},
		{Method: "POST", Path: list, OperationID: "api_v1_organisations_invite_links_create", Tag: "Invites", Auth: route.Admin,
			Permission: All(admin, Custom("invite links are allowed", inviteLinksAllowed)), Kind: route.Write, Status: 201, Handler: write(createInviteLink)},
		{Method: "DELETE", Path: list + "{id}/", OperationID: "api_v1_organisations_invite_links_destroy", Tag: "Invites", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Status: 204, Handler: write(deleteInviteLink)},
	}
}

func inviteLinksAllowed(c *Ctx) error {
	if c.Env.Options.DisableInviteLinks {
		return route.Forbidden("Invite links are disabled.")
	}
	return nil
}

func listInviteLinks(c *Ctx, _ struct{}) ([]inviteLinkJSON, error) {
	return mapped(fsm.InviteLinksByOrganisation.List(c, c.Organisation.ID), renderInviteLink), nil
}

func createInviteLink(c *Ctx, in inviteLinkInput) (inviteLinkJSON, error) {
	return renderInviteLink(fsm.InviteLinks.Put(c.Tx, fsm.InviteLink{Organisation: c.Organisation.ID, Hash: credential.NewInviteHash(), Role: in.Role,
		DateCreated: c.Now(), ExpiresAt: in.ExpiresAt})), nil
}

func deleteInviteLink(c *Ctx, in inviteRef) (route.Empty, error) {
	l, ok := fsm.InviteLinks.Get(c, in.ID)
	if !ok || l.Organisation != c.Organisation.ID {
		return c.fail(route.NotFound(fsm.InviteLinks.Name()))
	}
	fsm.InviteLinks.Delete(c.Tx, l.ID)
	return c.OK()
}

func renderInviteLink(l fsm.InviteLink) inviteLinkJSON {
	return inviteLinkJSON{ID: l.ID, Hash: l.Hash, DateCreated: l.DateCreated, Role: l.Role, ExpiresAt: l.ExpiresAt}
}

// expired reports whether a link lets nobody in any more.
func expired(l fsm.InviteLink, now fsm.Time) bool { return !l.ExpiresAt.IsZero() && l.ExpiresAt <= now }
