package admin

import (
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

const (
	msgLogin = "Unable to log in with provided credentials."
	// codesPerMinute is the limit of second steps per client address.
	codesPerMinute = 5
)

type loginInput struct {
	Password route.Optional[string] `json:"password"`
	Email    route.Optional[string] `json:"email"`

	hash string // what the password was checked against
	lock bool   // it was wrong once too often
}

// loginAnswer holds the token, what the second step needs, or the refusal that closes the account: that is written down, so it cannot be an
// error, which would undo the write.
type loginAnswer struct {
	Key            string   `json:"key,omitempty"`
	EphemeralToken string   `json:"ephemeral_token,omitempty"`
	Method         string   `json:"method,omitempty"`
	NonFieldErrors []string `json:"non_field_errors,omitempty"`
}

type codeInput struct {
	EphemeralToken string `json:"ephemeral_token" v:"required,max=200"`
	Code           string `json:"code" v:"required,max=20"`

	lock bool // it was wrong once too often
}

// codeAnswer is loginAnswer's sibling for the second step.
type codeAnswer struct {
	Key   string `json:"key,omitempty"`
	Error string `json:"error,omitempty"`
}

func loginRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/auth/login/", OperationID: "api_v1_auth_login_create", Tag: "Authentication",
			Summary:    "Get the account's token, or with two factors what the second step needs.",
			Permission: Custom("few sign-ins", loginThrottle), Refusals: throttled, Kind: route.Write, Handler: write(login).before(checkPassword)},
		{Method: "POST", Path: "/api/v1/auth/login/code/", OperationID: "api_v1_auth_login_code_create", Tag: "Authentication",
			Summary:    "The second step of a sign-in with two factors: a code of the app, or a backup code.",
			Permission: Custom("few sign-ins", codeThrottle), Refusals: []int{401, 429}, Kind: route.Write, Handler: write(loginCode).before(checkCode)},
		{Method: "POST", Path: "/api/v1/auth/logout/", OperationID: "api_v1_auth_logout_create", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Status: 204, Handler: write(logout)},
		{Method: "DELETE", Path: "/api/v1/auth/token/", OperationID: "api_v1_auth_token_destroy", Tag: "Authentication", Auth: route.User,
			Kind: route.Write, Status: 204, Handler: write(logout)},
	}
}

// loginThrottle counts every sign-in, malformed ones included.
func loginThrottle(c *Ctx) error {
	return c.Limit("login:"+c.Request.Remote, c.Env.Options.LoginPerMinute)
}

func codeThrottle(c *Ctx) error { return c.Limit("code:"+c.Request.Remote, codesPerMinute) }

func (in *loginInput) user(c *Ctx) fsm.User {
	u, _ := fsm.UsersByEmail.First(c, strings.ToLower(in.Email.Value))
	return u
}

// checkPassword takes as long for an unknown account as for a known one: neither gets to a transaction.
func checkPassword(c *Ctx, in *loginInput) error {
	if !in.Email.Set || !in.Password.Set {
		return route.NonField(msgLogin)
	}
	u := in.user(c)
	in.hash = u.PasswordHash
	right, err := c.Env.Passwords.Verify(c.Context, in.hash, in.Password.Value)
	switch {
	case err != nil:
		return err
	case !c.maySignIn(u):
		return route.NonField(msgLogin)
	case !right:
		if in.lock = c.Env.Lockout.Failed(u.ID); !in.lock {
			return route.NonField(msgLogin)
		}
	default:
		if _, two := activeFactor(c, u.ID); !two {
			c.Env.Lockout.Passed(u.ID)
		}
	}
	return nil
}

func login(c *Ctx, in loginInput) (loginAnswer, error) {
	u := in.user(c)
	if in.lock {
		c.lock(u.ID)
		c.SetStatus(400)
		return loginAnswer{NonFieldErrors: []string{msgLogin}}, nil
	}
	if !c.maySignIn(u) || u.PasswordHash != in.hash { // changed since it was checked
		return loginAnswer{}, route.NonField(msgLogin)
	}
	if f, two := activeFactor(c, u.ID); two {
		token, _ := issueToken(c, u.ID, fsm.PurposeSecondStep, secondStepLife)
		return loginAnswer{EphemeralToken: strconv.FormatUint(u.ID, 10) + "-" + token, Method: f.Method}, nil
	}
	return loginAnswer{Key: c.signIn(u)}, nil
}

// signIn notes the time and gives the account's token; it stays the same until the account signs out.
func (c *Ctx) signIn(u fsm.User) string {
	u.FailedLogins, u.LockedUntil, u.LastLogin = 0, 0, c.Now()
	fsm.Users.Put(c.Tx, u)
	t, ok := fsm.TokensByUser.First(c, u.ID)
	if !ok {
		t = fsm.Tokens.Put(c.Tx, fsm.Token{User: u.ID, Key: credential.NewToken(), Created: c.Now()})
	}
	return t.Key
}

// user finds the account whose first step the token proves.
func (in codeInput) user(c *Ctx) (u fsm.User, ok bool) {
	id, token, _ := strings.Cut(in.EphemeralToken, "-")
	n, _ := parseID(id)
	if u, ok = fsm.Users.Get(c, n); !ok || !hasToken(c, u.ID, fsm.PurposeSecondStep, token) {
		return fsm.User{}, false
	}
	return u, true
}

// checkCode counts wrong codes like wrong passwords.
func checkCode(c *Ctx, in *codeInput) error {
	u, ok := in.user(c)
	if !ok {
		return refuseStep("Invalid or expired token.")
	}
	f, two := activeFactor(c, u.ID)
	if !two || !c.maySignIn(u) {
		return refuseStep(msgCode)
	}
	if _, right := spendCode(f, in.Code, c.Wall()); right {
		c.Env.Lockout.Passed(u.ID)
		return nil
	}
	if in.lock = c.Env.Lockout.Failed(u.ID); !in.lock {
		return refuseStep(msgCode)
	}
	return nil
}

func loginCode(c *Ctx, in codeInput) (codeAnswer, error) {
	u, ok := in.user(c)
	if !ok {
		return codeAnswer{}, refuseStep("Invalid or expired token.")
	}
	if in.lock {
		c.lock(u.ID)
		c.SetStatus(401)
		return codeAnswer{Error: msgCode}, nil
	}
	f, two := activeFactor(c, u.ID)
	f, right := spendCode(f, in.Code, c.Wall())
	if !two || !right || !c.maySignIn(u) { // changed since it was checked
		return codeAnswer{}, refuseStep(msgCode)
	}
	fsm.SecondFactors.Put(c.Tx, f)
	fsm.OneTimeTokensByUser.DeleteAll(c.Tx, u.ID, fsm.PurposeSecondStep)
	return codeAnswer{Key: c.signIn(u)}, nil
}

const msgCode = "Invalid or expired code."

func refuseStep(message string) error { return route.Body(401, codeAnswer{Error: message}) }

// endAccess ends everything that gives access to an account without its password: its token, what it was mailed, and what programs may do.
func endAccess(c *Ctx, user uint64) {
	fsm.TokensByUser.DeleteAll(c.Tx, user)
	spendTokens(c, user)
	endPrograms(c, user)
}

func logout(c *Ctx, _ struct{}) (route.Empty, error) {
	if t := c.Principal.Token; t != nil { // a program leaves, not the user
		endConsent(c, t.Family)
		return c.OK()
	}
	fsm.TokensByUser.DeleteAll(c.Tx, c.Principal.User.ID)
	return c.OK()
}
