package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

func activationRows() []route.Row {
	const users = "/api/v1/auth/users/"
	on := Custom("activation mails are on", activationOn)
	return []route.Row{
		{Method: "POST", Path: users + "activation/", OperationID: "api_v1_auth_users_activation_create", Tag: "Authentication",
			Summary: "Activate an account with what the mail says.", Permission: on, Bare: []int{400}, Kind: route.Write, Status: 204,
			Handler: write(activate)},
		{Method: "POST", Path: users + "resend_activation/", OperationID: "api_v1_auth_users_resend_activation_create", Tag: "Authentication",
			Summary: "Ask for the activation mail again.", Permission: All(on, Custom("few mails", mailThrottle)), Bare: []int{400}, Refusals: throttled,
			Kind: route.Write, Status: 204, Handler: write(resendActivation)},
	}
}

// activationOn refuses with an empty body, as the reference does.
func activationOn(c *Ctx) error {
	if !c.Env.Options.EmailActivation {
		return &route.Error{Status: 400}
	}
	return nil
}

func activate(c *Ctx, in proof) (route.Empty, error) {
	u, err := in.user(c, fsm.PurposeActivation)
	if err != nil {
		return c.fail(err)
	}
	u.IsActive = true
	fsm.Users.Put(c.Tx, u)
	spendTokens(c, u.ID)
	return c.OK()
}

func resendActivation(c *Ctx, in mailAddress) (route.Empty, error) {
	c.mailActivation(in.Email)
	return c.OK()
}

// mailActivation mails an account that is not active the link that makes it so.
func (c *Ctx) mailActivation(email string) {
	c.mailLink(email, fsm.PurposeActivation, isInactive, "activate", "Activate your account", "Follow this link to activate your account:")
}
