package admin

import (
	"fmt"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/webhook"
)

// webhookTested is the answer to a test, whether it went well or not.
type webhookTested struct {
	Detail string `json:"detail"`
	Body   string `json:"body,omitempty"`
	Status int    `json:"status,omitempty"`
}

type webhookTestInput struct {
	URL    string                 `json:"webhook_url" v:"required"`
	Scope  webhookScope           `json:"scope" v:"required"`
	Secret route.Optional[string] `json:"secret" v:"null,blank"`
}

type webhookScope struct {
	Type string      `json:"type" v:"required,choice=organisation|environment"`
	ID   route.Value `json:"id"` // read by the permission
}

func webhookTestRows() []route.Row {
	return []route.Row{{
		Method: "POST", Path: "/api/v1/webhooks/test/", OperationID: "api_v1_webhooks_test_create", Tag: "Webhooks",
		Summary: "Send an example event to an address.", Auth: route.Admin, Permission: Custom("organisation admin or environment admin, as the scope says", testsWebhooks),
		Handler: read(testWebhook),
	}}
}

// testsWebhooks asks for the rights that a webhook of the scope takes. An environment is named by its key, as elsewhere, or by its id.
func testsWebhooks(c *Ctx) error {
	scope := c.BodyMember("scope")
	id, allowed := scope.Get("id"), false
	switch scope.Get("type").Text {
	case "organisation":
		n, _ := parseID(id.Text)
		c.Organisation, allowed = fsm.Organisations.Get(c, n)
		allowed = allowed && c.IsOrganisationAdmin(n)
	case "environment":
		if c.Environment, allowed = fsm.EnvironmentsByAPIKey.First(c, id.Text); !allowed {
			n, _ := parseID(id.Text)
			c.Environment, allowed = fsm.Environments.Get(c, n)
		}
		allowed = allowed && c.IsEnvironmentAdmin(c.Environment)
	}
	if !allowed {
		return route.PermissionDenied()
	}
	return nil
}

// testWebhook changes nothing, so it may take its time on any node.
func testWebhook(c *Ctx, in webhookTestInput) (webhookTested, error) {
	if err := checkHookURL(c, "webhook_url", in.URL); err != nil {
		return webhookTested{}, err
	}
	if c.Env.Options.DisableWebhooks {
		return webhookTested{}, route.Body(400, webhookTested{Detail: "Could not connect to webhook URL", Body: "Webhooks are disabled."})
	}
	body, err := exampleBody(c)
	if err != nil {
		return webhookTested{}, err
	}
	switch status, err := c.Env.Webhooks.Send(c.Context, webhook.Call{URL: in.URL, Secret: in.Secret.Value, Body: body}); {
	case err != nil:
		return webhookTested{}, route.Body(400, webhookTested{Detail: "Could not connect to webhook URL", Body: webhook.Reason(err)})
	case status >= 300:
		return webhookTested{}, route.Body(400, webhookTested{Detail: "Webhook returned error status",
			Body: fmt.Sprintf("Webhook returned HTTP %d.", status), Status: status})
	default:
		return webhookTested{Detail: "Webhook test successful", Status: status}, nil
	}
}

// exampleBody is an event that could have happened, and did not.
func exampleBody(c *Ctx) ([]byte, error) {
	if c.Environment.ID == 0 {
		return webhook.Body(EventAudit, auditJSON{CreatedDate: c.Now(), Log: "New Flag / Remote Config created: my_feature", Author: renderUser(c, c.Principal.UserID()),
			RelatedObjectType: fsm.AuditFeature})
	}
	state := &hookState{Environment: hookRef{c.Environment.ID, c.Environment.Name}, Enabled: true, Value: route.Scalar{}, Shares: []hookShare{},
		Feature: hookFeature{Name: "my_feature", Type: string(fsm.Standard), CreatedDate: c.Now(), Project: hookRef{ID: c.Environment.Project}}}
	if p, ok := fsm.Projects.Get(c, c.Environment.Project); ok {
		state.Feature.Project.Name = p.Name
	}
	return webhook.Body(EventUpdated, flagEvent{ChangedBy: c.Principal.Author().Name, Timestamp: c.Now(), New: state})
}
