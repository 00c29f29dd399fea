package admin

import (
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// An account is closed for a while after so many wrong passwords (FACTS §4).
const (
	maxFailedLogins = 10
	lockTime        = 15 * time.Minute
)

const msgLogin = "Unable to log in with provided credentials."

type loginInput struct {
	Password route.Optional[string] `json:"password"`
	Email    route.Optional[string] `json:"email"`

	right bool   // the password fits
	hash  string // what it was checked against
}

// loginAnswer holds the token, or the refusal: a wrong password is written down, so it cannot be an error, which would undo the write.
type loginAnswer struct {
	Key            string   `json:"key,omitempty"`
	NonFieldErrors []string `json:"non_field_errors,omitempty"`
}

func loginRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/auth/login/", OperationID: "api_v1_auth_login_create", Tag: "Authentication",
			Summary:    "Get the account's token.",
			Permission: Custom("few sign-ins", loginThrottle), Kind: route.Write, Handler: write(login).before(checkPassword)},
		{Method: "POST", Path: "/api/v1/auth/login/code/", OperationID: "api_v1_auth_login_code_create", Tag: "Authentication",
			Summary: "The second step of a sign-in with two factors.", Handler: read(loginCode)},
		{Method: "POST", Path: "/api/v1/auth/logout/", OperationID: "api_v1_auth_logout_create", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Status: 204, Handler: write(logout)},
		{Method: "DELETE", Path: "/api/v1/auth/token/", OperationID: "api_v1_auth_token_destroy", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Status: 204, Handler: write(logout)},
	}
}

// loginThrottle counts every sign-in once, malformed ones included: not again inside the transaction.
func loginThrottle(c *Ctx) error {
	if c.Tx != nil {
		return nil
	}
	return c.Env.Throttle.Allow("login:"+c.Request.Remote, c.Env.Options.LoginPerMinute)
}

func (in *loginInput) user(c *Ctx) (fsm.User, bool) {
	return fsm.UsersByEmail.First(c, strings.ToLower(in.Email.Value))
}

// checkPassword takes as long for an unknown account as for a known one.
func checkPassword(c *Ctx, in *loginInput) (err error) {
	if !in.Email.Set || !in.Password.Set {
		return route.NonField(msgLogin)
	}
	u, _ := in.user(c)
	in.hash = u.PasswordHash
	in.right, err = c.Env.Passwords.Verify(c.Context, in.hash, in.Password.Value)
	return err
}

func login(c *Ctx, in loginInput) (loginAnswer, error) {
	u, ok := in.user(c)
	if !ok || !u.IsActive || u.LockedUntil > c.Now() || u.PasswordHash != in.hash {
		return loginAnswer{}, route.NonField(msgLogin)
	}
	if !in.right {
		countFailure(c, u)
		c.SetStatus(400)
		return loginAnswer{NonFieldErrors: []string{msgLogin}}, nil
	}
	u.FailedLogins, u.LockedUntil, u.LastLogin = 0, 0, c.Now()
	fsm.Users.Put(c.Tx, u)
	return loginAnswer{Key: tokenOf(c, u.ID)}, nil
}

func countFailure(c *Ctx, u fsm.User) {
	u.FailedLogins++
	u.LockedUntil = 0
	if u.FailedLogins >= maxFailedLogins {
		u.FailedLogins, u.LockedUntil = 0, c.Now().Add(lockTime)
	}
	fsm.Users.Put(c.Tx, u)
}

// tokenOf gives the user's token; it stays the same until the user logs out.
func tokenOf(c *Ctx, user uint64) string {
	t, ok := fsm.TokensByUser.First(c, user)
	if !ok {
		t = fsm.Tokens.Put(c.Tx, fsm.Token{User: user, Key: credential.NewToken(), Created: c.Now()})
	}
	return t.Key
}

func logout(c *Ctx, _ struct{}) (route.Empty, error) {
	fsm.TokensByUser.DeleteAll(c.Tx, c.Principal.User.ID)
	return c.OK()
}

// loginCode refuses every code: no account has a second factor yet.
func loginCode(*Ctx, struct {
	EphemeralToken string `json:"ephemeral_token" v:"required"`
	Code           string `json:"code" v:"required"`
}) (loginAnswer, error) {
	return loginAnswer{}, route.Body(401, map[string]string{"error": "Invalid or expired token."})
}
