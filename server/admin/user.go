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
	open := Custom("sign-up is open", signupOpen)
	return []route.Row{
		{Method: "POST", Path: users, OperationID: "api_v1_auth_users_create", Tag: "Authentication", Summary: "Register an account.",
			Permission: open, Kind: route.Write, Status: 201, Handler: write(register).before(prepareRegistration)},
		{Method: "POST", Path: users + "reset_password/", OperationID: "api_v1_auth_users_reset_password_create", Tag: "Authentication",
			Summary: "Ask for a mail with a link to a new password. No mail is sent yet.", Status: 204, Handler: read(resetPassword)},
		{Method: "GET", Path: users, OperationID: "api_v1_auth_users_list", Tag: "Authentication", Auth: route.User, Hidden: true, Handler: read(noUserList)},
	}
}

// signupOpen is asked once a request, outside the transaction, so that each is counted once.
func signupOpen(c *Ctx) error {
	if c.Env.Options.PreventSignup {
		return route.Unauthenticated(route.MsgNoCredentials)
	}
	if c.Tx != nil {
		return nil
	}
	return c.Env.Throttle.Allow("signup:"+c.Request.Remote, signupPerMinute)
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
	if !c.Env.Options.AllowRegistrationWithoutInvite {
		return route.Forbidden("User registration without an invite is disabled for this installation.")
	}
	return nil
}

// register makes an account and its token. The first one of an installation is its superuser.
func register(c *Ctx, in registration) (registered, error) {
	if err := mayRegister(c, in); err != nil {
		return registered{}, err
	}
	u := fsm.Users.Put(c.Tx, fsm.User{
		UUID: c.Tx.NewUUID(), Email: strings.ToLower(in.Email), PasswordHash: in.hash, FirstName: in.FirstName, LastName: in.LastName,
		IsActive: true, IsSuperuser: !hasUsers(c), DateJoined: c.Now(), SignUpType: in.SignUpType, MarketingConsentGiven: in.MarketingConsentGiven,
	})
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

// resetPassword never tells whether an account exists.
func resetPassword(*Ctx, struct {
	Email string `json:"email" v:"required,email"`
}) (route.Empty, error) {
	return route.Empty{}, nil
}

// noUserList hides the accounts, as the reference does.
func noUserList(*Ctx, struct{}) (route.Empty, error) { return route.Empty{}, route.NotFoundDetail() }
