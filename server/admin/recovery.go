package admin

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

type mailAddress struct {
	Email string `json:"email" v:"required,email,max=254"`
}

type passwordReset struct {
	proof
	NewPassword   string `json:"new_password" v:"required,max=1000"`
	ReNewPassword string `json:"re_new_password" v:"required,max=1000"`

	hash string // of the new password
}

type emailReset struct {
	proof
	NewEmail string `json:"new_email" v:"required,email,max=254"`
}

func recoveryRows() []route.Row {
	const users = "/api/v1/auth/users/"
	few := Custom("few mails", mailThrottle)
	return []route.Row{
		{Method: "POST", Path: users + "reset_password/", OperationID: "api_v1_auth_users_reset_password_create", Tag: "Authentication",
			Summary: "Ask for a mail with a link to a new password. The answer does not tell whether there is such an account.", Permission: few, Refusals: throttled,
			Kind: route.Write, Status: 204, Handler: write(resetPassword)},
		{Method: "POST", Path: users + "reset_password_confirm/", OperationID: "api_v1_auth_users_reset_password_confirm_create", Tag: "Authentication",
			Summary: "Set a new password with what the mail says. The account's tokens end, those of programs too.", Kind: route.Write, Status: 204,
			Handler: write(confirmPasswordReset).before(preparePasswordReset)},
		{Method: "POST", Path: users + "reset_email/", OperationID: "api_v1_auth_users_reset_email_create", Tag: "Authentication",
			Summary: "Ask for a mail with a link to change the account's address.", Permission: few, Refusals: throttled, Kind: route.Write, Status: 204,
			Handler: write(resetEmail)},
		{Method: "POST", Path: users + "reset_email_confirm/", OperationID: "api_v1_auth_users_reset_email_confirm_create", Tag: "Authentication",
			Summary: "Change the address with what the mail says.", Kind: route.Write, Status: 204, Handler: write(confirmEmailReset)},
	}
}

// mailThrottle bounds the mails that a client address may ask for as sign-ins are.
func mailThrottle(c *Ctx) error {
	return c.Limit("mail:"+c.Request.Remote, c.Env.Options.LoginPerMinute)
}

// mailLink mails an account a link with a one-time token, unless it was mailed too often.
func (c *Ctx) mailLink(email string, purpose fsm.Purpose, wanted func(fsm.User) bool, page, subject, text string) {
	u, known := fsm.UsersByEmail.First(c, strings.ToLower(email))
	if known && wanted(u) {
		if token, ok := issueToken(c, u.ID, purpose, mailTokenLife); ok {
			c.Mail(u.Email, subject, text+"\n\n"+c.Env.Link(page+"/"+encodeUID(u.ID)+"/"+token)+"\n\n"+
				"The link works once, for a day. If you did not ask for it, do nothing.\n")
			return
		}
	}
	nobodysToken(c)
}

func isActive(u fsm.User) bool   { return u.IsActive }
func isInactive(u fsm.User) bool { return !u.IsActive }

func resetPassword(c *Ctx, in mailAddress) (route.Empty, error) {
	c.mailLink(in.Email, fsm.PurposePassword, isActive, "password-reset/confirm", "Set a new password", "Follow this link to set a new password:")
	return c.OK()
}

func preparePasswordReset(c *Ctx, in *passwordReset) error {
	u, err := in.user(c, fsm.PurposePassword)
	if err != nil {
		return err
	}
	if faults := passwordFaults(in.NewPassword, u.FirstName, u.LastName, u.Email); len(faults) > 0 {
		return route.Field("new_password", faults...)
	}
	if in.NewPassword != in.ReNewPassword {
		return route.NonField("The two password fields didn't match.")
	}
	in.hash, err = c.Env.Passwords.Hash(c.Context, in.NewPassword)
	return err
}

// confirmPasswordReset also opens a locked account: its owner has proved to be it. Whoever knew the old password is signed out.
func confirmPasswordReset(c *Ctx, in passwordReset) (route.Empty, error) {
	u, err := in.user(c, fsm.PurposePassword)
	if err != nil {
		return c.fail(err)
	}
	u.PasswordHash, u.LockedUntil = in.hash, 0
	fsm.Users.Put(c.Tx, u)
	endAccess(c, u.ID)
	return c.OK()
}

func resetEmail(c *Ctx, in mailAddress) (route.Empty, error) {
	c.mailLink(in.Email, fsm.PurposeEmail, isActive, "email/reset/confirm", "Change your address", "Follow this link to change the address of your account:")
	return c.OK()
}

func confirmEmailReset(c *Ctx, in emailReset) (route.Empty, error) {
	u, err := in.user(c, fsm.PurposeEmail)
	if err != nil {
		return c.fail(err)
	}
	return c.changeEmail(u, in.NewEmail)
}

// changeEmail gives an account another address and tells the old one.
func (c *Ctx) changeEmail(u fsm.User, email string) (route.Empty, error) {
	email = strings.ToLower(email)
	if other, taken := fsm.UsersByEmail.First(c, email); taken && other.ID != u.ID {
		return c.fail(route.Field("new_email", "Email already exists. Please log in."))
	}
	old := u.Email
	u.Email = email
	fsm.Users.Put(c.Tx, u)
	spendTokens(c, u.ID)
	c.Mail(old, "Your address was changed", "The address of your account is now "+email+".\n\nIf you did not do this, tell your administrator.\n")
	return c.OK()
}
