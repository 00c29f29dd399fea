package admin

import (
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// userSummary is a user as other objects show it: owners, authors, holders of permissions.
type userSummary struct {
	ID        uint64    `json:"id"`
	Email     string    `json:"email"`
	FirstName string    `json:"first_name"`
	LastName  string    `json:"last_name"`
	LastLogin fsm.Time  `json:"last_login"`
	UUID      uuid.UUID `json:"uuid"`
}

// renderUser gives the summary of a user, or nil when it does not exist any more.
func renderUser(r fsm.Reader, id uint64) *userSummary {
	u := fsm.Users.Ref(r, id)
	if u == nil {
		return nil
	}
	return &userSummary{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName, LastLogin: u.LastLogin, UUID: u.UUID}
}

// registration is a new account.
type registration struct {
	Email                 string  `json:"email" v:"required,email,max=254"`
	Password              string  `json:"password" v:"required,max=1000"`
	FirstName             string  `json:"first_name" v:"required,max=150"`
	LastName              string  `json:"last_name" v:"required,max=150"`
	SignUpType            *string `json:"sign_up_type" v:"choice=NO_INVITE|INVITE_EMAIL|INVITE_LINK"`
	InviteHash            *string `json:"invite_hash" v:"blank"`
	Superuser             bool    `json:"superuser"`
	MarketingConsentGiven bool    `json:"marketing_consent_given"`

	hash string // of the password
}

// Validate checks the password rules.
func (in *registration) Validate(e *route.Errors) {
	e.Add("password", passwordFaults(in.Password, in.FirstName, in.LastName, in.Email)...)
}

type registered struct {
	FirstName             string    `json:"first_name"`
	LastName              string    `json:"last_name"`
	SignUpType            *string   `json:"sign_up_type"`
	Email                 string    `json:"email"`
	ID                    uint64    `json:"id"`
	IsActive              bool      `json:"is_active"`
	MarketingConsentGiven bool      `json:"marketing_consent_given"`
	UUID                  uuid.UUID `json:"uuid"`
	Key                   string    `json:"key"`
}

// signupPerMinute is the reference's limit of registrations per client address.
const signupPerMinute = 10_000

func userRows() []route.Row {
	const users = "/api/v1/auth/users/"
	const hidden = "Accounts are hidden: always 404."
	open := Custom("sign-up is open", signupOpen)
	return []route.Row{
		{Method: "POST", Path: users, OperationID: "api_v1_auth_users_create", Tag: "Authentication", Summary: "Register an account.",
			Permission: open, Refusals: []int{401, 403, 429}, Kind: route.Write, Status: 201, Handler: write(register).before(prepareRegistration)},
		{Method: "GET", Path: users, OperationID: "api_v1_auth_users_list", Tag: "Authentication", Summary: hidden, Auth: route.User, Refusals: []int{404}, Handler: read(noUser)},
		{Method: "GET", Path: users + "{id}/", OperationID: "api_v1_auth_users_retrieve", Tag: "Authentication", Summary: hidden, Auth: route.User, Handler: read(noUser)},
		{Method: "PUT", Path: users + "{id}/", OperationID: "api_v1_auth_users_update", Tag: "Authentication", Summary: hidden, Auth: route.User, Handler: read(noUser)},
		{Method: "PATCH", Path: users + "{id}/", OperationID: "api_v1_auth_users_partial_update", Tag: "Authentication", Summary: hidden, Auth: route.User, Handler: read(noUser)},
		{Method: "DELETE", Path: users + "{id}/", OperationID: "api_v1_auth_users_destroy", Tag: "Authentication", Summary: hidden, Auth: route.User, Handler: read(noUser)},
		{Method: "GET", Path: "/api/v1/users/init/", OperationID: "api_v1_users_init", Tag: "Authentication", Hidden: true, Handler: read(firstUser)},
	}
}

func signupOpen(c *Ctx) error {
	if c.Env.Options.PreventSignup {
		return route.Unauthenticated(route.MsgNoCredentials)
	}
	return c.Limit("signup:"+c.Request.Remote, signupPerMinute)
}

func prepareRegistration(c *Ctx, in *registration) (err error) {
	if err := mayRegister(c, *in); err != nil {
		return err
	}
	in.hash, err = c.Env.Passwords.Hash(c.Context, in.Password)
	return err
}

func mayRegister(c *Ctx, in registration) error {
	if _, taken := fsm.UsersByEmail.First(c, strings.ToLower(in.Email)); taken {
		return route.Field("email", "Email already exists. Please log in.")
	}
	if !hasUsers(c) {
		return nil
	}
	if in.Superuser {
		return route.Field("superuser", "A superuser can only be created through this endpoint if no other users exist.")
	}
	if !c.Env.Options.AllowRegistrationWithoutInvite && !invited(c, in) {
		return route.Forbidden("User registration without an invite is disabled for this installation.")
	}
	return nil
}

// invited reports whether somebody asked for this address, or the link in the request lets its readers in.
func invited(c *Ctx, in registration) bool {
	if _, ok := fsm.InvitesByEmail.First(c, strings.ToLower(in.Email)); ok {
		return true
	}
	if in.InviteHash == nil || c.Env.Options.DisableInviteLinks {
		return false
	}
	l, ok := fsm.InviteLinksByHash.First(c, *in.InviteHash)
	return ok && !expired(l, c.Wall())
}

// register makes an account and its token. The first one of an installation is its superuser.
func register(c *Ctx, in registration) (registered, error) {
	if err := mayRegister(c, in); err != nil {
		return registered{}, err
	}
	u := fsm.Users.Put(c.Tx, fsm.User{
		UUID: c.Tx.NewUUID(), Email: strings.ToLower(in.Email), PasswordHash: in.hash, FirstName: in.FirstName, LastName: in.LastName,
		IsActive: !c.Env.Options.EmailActivation || !hasUsers(c), IsSuperuser: !hasUsers(c), DateJoined: c.Now(), SignUpType: in.SignUpType, MarketingConsentGiven: in.MarketingConsentGiven,
	})
	if !u.IsActive {
		c.mailActivation(u.Email)
	}
	t := fsm.Tokens.Put(c.Tx, fsm.Token{User: u.ID, Key: credential.NewToken(), Created: c.Now()})
	return registered{FirstName: u.FirstName, LastName: u.LastName, SignUpType: u.SignUpType, Email: u.Email, ID: u.ID, IsActive: u.IsActive,
		MarketingConsentGiven: u.MarketingConsentGiven, UUID: u.UUID, Key: t.Key}, nil
}

func hasUsers(r fsm.Reader) bool {
	for range fsm.Users.Refs(r) {
		return true
	}
	return false
}

// noUser hides the accounts, as the reference does: users/me/ is the caller's own.
func noUser(*Ctx, struct{}) (route.Empty, error) { return route.Empty{}, route.NotFoundDetail() }

// initialised is what the reference says of its first user.
type initialised struct {
	AdminUserCreated bool   `json:"adminUserCreated"`
	Message          string `json:"message"`
}

// firstUser never makes one, as the reference does for anybody who asks: the settings and the first registration do.
func firstUser(c *Ctx, _ struct{}) (route.Empty, error) {
	message := "FAILED TO INIT ADMIN USER. USER(S) ALREADY EXIST IN SYSTEM."
	if !hasUsers(c) {
		message = "The first account that registers is the superuser; the settings can name one, too."
	}
	return route.Empty{}, route.Body(400, initialised{Message: message})
}
