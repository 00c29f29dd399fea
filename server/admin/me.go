package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// me is the caller's own account.
type me struct {
	FirstName           string    `json:"first_name"`
	LastName            string    `json:"last_name"`
	SignUpType          *string   `json:"sign_up_type"`
	ID                  uint64    `json:"id"`
	Email               string    `json:"email"`
	AuthType            string    `json:"auth_type"`
	IsSuperuser         bool      `json:"is_superuser"`
	DateJoined          fsm.Time  `json:"date_joined"`
	UUID                uuid.UUID `json:"uuid"`
	PylonEmailSignature *string   `json:"pylon_email_signature"`
	Onboarding          rawJSON   `json:"onboarding"`
}

// rawJSON is stored JSON; nil is null.
type rawJSON []byte

// AppendJSON writes it as it is.
func (r rawJSON) AppendJSON(dst []byte) []byte {
	if r == nil {
		return append(dst, "null"...)
	}
	return append(dst, r...)
}

type meInput struct {
	FirstName  route.Optional[string] `json:"first_name" v:"required,max=150"`
	LastName   route.Optional[string] `json:"last_name" v:"required,max=150"`
	SignUpType route.Optional[string] `json:"sign_up_type" v:"null,choice=NO_INVITE|INVITE_EMAIL|INVITE_LINK"`
}

// leaving deletes the account. The reference asks for no password unless one is sent (FACTS §4).
type leaving struct {
	CurrentPassword           route.Optional[string] `json:"current_password"`
	DeleteOrphanOrganisations bool                   `json:"delete_orphan_organisations"`
}

func meRows() []route.Row {
	const path = "/api/v1/auth/users/me/"
	return []route.Row{
		{Method: "GET", Path: path, OperationID: "api_v1_auth_users_me_retrieve", Tag: "Authentication", Auth: route.User, Handler: read(getMe)},
		{Method: "PUT", Path: path, OperationID: "api_v1_auth_users_me_update", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Handler: write(updateMe)},
		{Method: "PATCH", Path: path, OperationID: "api_v1_auth_users_me_partial_update", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Handler: write(updateMe)},
		{Method: "DELETE", Path: path, OperationID: "api_v1_auth_users_me_destroy", Tag: "Authentication", Auth: route.User,
			Refusals: throttled, Kind: route.Write, Status: 204, Handler: write(deleteMe).before(checkLeaving)},
		{Method: "POST", Path: "/api/v1/auth/users/set_password/", OperationID: "api_v1_auth_users_set_password_create", Tag: "Authentication",
			Summary: "Set a new password. The tokens of programs end; the account's own stays.", Auth: route.User, Refusals: throttled, Kind: route.Write, Status: 204, Handler: write(setPassword).before(prepareSetPassword)},
		{Method: "POST", Path: "/api/v1/auth/users/set_email/", OperationID: "api_v1_auth_users_set_email_create", Tag: "Authentication",
			Summary: "Change the account's address; the old one is told.", Auth: route.User, Refusals: throttled, Kind: route.Write, Status: 204,
			Handler: write(setEmail).before(prepareSetEmail)},
		{Method: "PATCH", Path: path + "onboarding/", OperationID: "api_v1_auth_users_me_onboarding_partial_update", Tag: "Authentication",
			Summary: "Note how far the account's onboarding is.", Auth: route.User, Kind: route.Write, Status: 204, Handler: write(updateOnboarding)},
	}
}

func getMe(c *Ctx, _ struct{}) (me, error) { return renderMe(*c.Principal.User), nil }

func updateMe(c *Ctx, in meInput) (me, error) {
	u := *c.Principal.User
	in.FirstName.Into(&u.FirstName)
	in.LastName.Into(&u.LastName)
	in.SignUpType.IntoPtr(&u.SignUpType)
	return renderMe(fsm.Users.Put(c.Tx, u)), nil
}

func checkLeaving(c *Ctx, in *leaving) error {
	if !in.CurrentPassword.Set {
		return nil
	}
	return c.confirmPassword(in.CurrentPassword.Value)
}

// confirmPassword checks the caller's password again. It belongs into before steps. Who holds somebody's token, a program for one, gets no
// more tries a minute than at the second step of a sign-in.
func (c *Ctx) confirmPassword(password string) error {
	if err := c.Limit("password:"+c.Principal.Scope(), codesPerMinute); err != nil {
		return err
	}
	ok, err := c.Env.Passwords.Verify(c.Context, c.Principal.User.PasswordHash, password)
	if err != nil {
		return err
	}
	if !ok {
		return route.Field("current_password", "Invalid password.")
	}
	return nil
}

func deleteMe(c *Ctx, in leaving) (route.Empty, error) {
	id := c.Principal.User.ID
	if err := keepSuperuser(c); err != nil {
		return c.fail(err)
	}
	for _, m := range fsm.MembershipsByUser.List(c, id) {
		if fsm.MembershipsByOrganisation.Count(c, m.Organisation) > 1 {
			if err := keepAdmin(c, m.Organisation, id); err != nil {
				return route.Empty{}, err
			}
		}
		removeMember(c, m.Organisation, id)
		if in.DeleteOrphanOrganisations && fsm.MembershipsByOrganisation.Count(c, m.Organisation) == 0 {
			deleteOrganisationTree(c, m.Organisation)
		}
	}
	if err := keepOwner(c, in.DeleteOrphanOrganisations); err != nil {
		return c.fail(err)
	}
	endAccess(c, id)
	fsm.SecondFactorsByUser.DeleteAll(c.Tx, id)
	fsm.GroupMembersByUser.DeleteAll(c.Tx, id)
	fsm.PermissionsByUser.DeleteAll(c.Tx, id)
	fsm.Users.Delete(c.Tx, id)
	return c.OK()
}

// keepOwner refuses to delete the only account while organisations stay: the next one that registers, which anybody may then, would be the
// superuser over them. Asked to delete orphans it deletes those, too, that were some before: who left them, or imported them with a master key,
// is no member.
func keepOwner(c *Ctx, deleteOrphans bool) error {
	for u := range fsm.Users.Refs(c) {
		if u.ID != c.Principal.User.ID {
			return nil
		}
	}
	for _, o := range slices.Collect(fsm.Organisations.All(c)) {
		if deleteOrphans {
			deleteOrganisationTree(c, o.ID)
			continue
		}
		return route.BadRequest("Organisations would be left to whoever registers next. Delete them with the account (delete_orphan_organisations), " +
			"or hand it over: change its address and password.")
	}
	return nil
}

// keepSuperuser refuses to delete the account of the last superuser while there are others: nobody can make one of them a superuser, and only
// superusers take backups, change the cluster and set limits.
func keepSuperuser(c *Ctx) error {
	if !c.Principal.User.IsSuperuser {
		return nil
	}
	alone := true
	for u := range fsm.Users.Refs(c) {
		if u.ID == c.Principal.User.ID {
			continue
		}
		if u.IsSuperuser && u.IsActive {
			return nil
		}
		alone = false
	}
	if alone {
		return nil
	}
	return route.BadRequest("The installation would have no superuser left. Hand the account over instead: change its address and password.")
}

type passwordChange struct {
	CurrentPassword string `json:"current_password" v:"required,max=1000"`
	NewPassword     string `json:"new_password" v:"required,max=1000"`
	ReNewPassword   string `json:"re_new_password" v:"required,max=1000"`

	verified string // the hash that current_password was checked against
	hash     string // of the new password
}

func prepareSetPassword(c *Ctx, in *passwordChange) (err error) {
	if err := c.confirmPassword(in.CurrentPassword); err != nil {
		return err
	}
	u := c.Principal.User
	if faults := passwordFaults(in.NewPassword, u.FirstName, u.LastName, u.Email); len(faults) > 0 {
		return route.Field("new_password", faults...)
	}
	if in.NewPassword != in.ReNewPassword {
		return route.NonField("The two password fields didn't match.")
	}
	in.verified = u.PasswordHash
	in.hash, err = c.Env.Passwords.Hash(c.Context, in.NewPassword)
	return err
}

// setPassword ends what programs may do. The account's own token stays: the caller
// holds it, and front ends go on with it.
func setPassword(c *Ctx, in passwordChange) (route.Empty, error) {
	u := *c.Principal.User
	if u.PasswordHash != in.verified { // changed since it was checked
		return c.fail(route.Field("current_password", "Invalid password."))
	}
	u.PasswordHash = in.hash
	fsm.Users.Put(c.Tx, u)
	spendTokens(c, u.ID)
	endPrograms(c, u.ID)
	return c.OK()
}

type emailChange struct {
	NewEmail        string `json:"new_email" v:"required,email,max=254"`
	CurrentPassword string `json:"current_password" v:"required,max=1000"`

	verified string // the hash that current_password was checked against
}

func prepareSetEmail(c *Ctx, in *emailChange) error {
	in.verified = c.Principal.User.PasswordHash
	return c.confirmPassword(in.CurrentPassword)
}

func setEmail(c *Ctx, in emailChange) (route.Empty, error) {
	u := *c.Principal.User
	if u.PasswordHash != in.verified { // changed since it was checked
		return c.fail(route.Field("current_password", "Invalid password."))
	}
	return c.changeEmail(u, in.NewEmail)
}

func renderMe(u fsm.User) me {
	return me{FirstName: u.FirstName, LastName: u.LastName, SignUpType: u.SignUpType, ID: u.ID, Email: u.Email, AuthType: "EMAIL",
		IsSuperuser: u.IsSuperuser, DateJoined: u.DateJoined, UUID: u.UUID, Onboarding: u.Onboarding}
}
