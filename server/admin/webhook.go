package admin

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/webhook"
)

// webhookJSON is a webhook of an environment or an organisation. The reference shows the secret too.
type webhookJSON struct {
	ID        uint64   `json:"id"`
	URL       string   `json:"url"`
	Enabled   bool     `json:"enabled"`
	Secret    string   `json:"secret"`
	CreatedAt fsm.Time `json:"created_at"`
	UpdatedAt fsm.Time `json:"updated_at"`
}

type webhookRef struct {
	ID uint64 `path:"id"`
}

type webhookInput struct {
	URL     route.Optional[string] `json:"url" v:"required,max=200"`
	Enabled route.Optional[bool]   `json:"enabled"`
	Secret  route.Optional[string] `json:"secret" v:"blank,max=255"`
}

type webhookUpdate struct {
	webhookRef
	webhookInput
}

// maxWebhooks is how many webhooks one environment or organisation may have: each gets its own copy of every event.
const maxWebhooks = 50

// webhookLevel is the format level that came with the tables.
const webhookLevel = 3

func webhookRows() []route.Row {
	const (
		environment  = "/api/v1/environments/{environment_api_key}/webhooks/"
		organisation = "/api/v1/organisations/{organisation_pk}/webhooks/"
	)
	row := func(method, path, id string, permission route.Permission, kind route.Kind, status int, h route.Handler) route.Row {
		r := route.Row{Method: method, Path: path, OperationID: "api_v1_" + id, Tag: "Webhooks", Auth: route.Admin, Permission: permission,
			Kind: kind, Status: status, Handler: h}
		if kind == route.Write {
			r.Level = webhookLevel
		}
		return r
	}
	viewer, manager := EnvironmentPermission("VIEW_ENVIRONMENT", Path("environment_api_key")), EnvironmentAdmin(Path("environment_api_key"))
	admin := OrganisationAdmin(Path("organisation_pk")).Saying(MsgInsufficient)
	return []route.Row{
		row("GET", environment, "environments_webhooks_list", viewer, route.Read, 200, read(listEnvironmentWebhooks)),
		row("POST", environment, "environments_webhooks_create", manager, route.Write, 201, write(createWebhook).before(checkNewWebhook)),
		row("PUT", environment+"{id}/", "environments_webhooks_update", manager, route.Write, 200, write(updateWebhook).before(checkWebhook)),
		row("PATCH", environment+"{id}/", "environments_webhooks_partial_update", manager, route.Write, 200, write(updateWebhook).before(checkWebhook)),
		row("DELETE", environment+"{id}/", "environments_webhooks_destroy", manager, route.Write, 204, write(deleteWebhook)),

		row("GET", organisation, "organisations_webhooks_list", admin, route.Read, 200, read(listOrganisationWebhooks)),
		row("POST", organisation, "organisations_webhooks_create", admin, route.Write, 201, write(createWebhook).before(checkNewWebhook)),
		row("GET", organisation+"{id}/", "organisations_webhooks_retrieve", admin, route.Read, 200, read(getWebhook)),
		row("PUT", organisation+"{id}/", "organisations_webhooks_update", admin, route.Write, 200, write(updateWebhook).before(checkWebhook)),
		row("PATCH", organisation+"{id}/", "organisations_webhooks_partial_update", admin, route.Write, 200, write(updateWebhook).before(checkWebhook)),
		row("DELETE", organisation+"{id}/", "organisations_webhooks_destroy", admin, route.Write, 204, write(deleteWebhook)),
	}
}

func listEnvironmentWebhooks(c *Ctx, _ struct{}) ([]webhookJSON, error) {
	hooks := mapped(c.webhooks(), renderWebhook)
	if !c.IsEnvironmentAdmin(c.Environment) {
		for i := range hooks {
			hooks[i].Secret = "" // with it one could sign events
		}
	}
	return hooks, nil
}

func listOrganisationWebhooks(c *Ctx, _ struct{}) (route.Page[webhookJSON], error) {
	return paginate(c, c.webhooks(), renderWebhook)
}

// webhooks are those of the environment, or else of the organisation, in the path.
func (c *Ctx) webhooks() []fsm.Webhook {
	if c.Environment.ID != 0 {
		return fsm.WebhooksByEnvironment.List(c, c.Environment.ID)
	}
	return fsm.WebhooksByOrganisation.List(c, c.Organisation.ID)
}

// checkWebhook looks the address up, outside the transaction. Delivering judges the address it connects to again.
func checkWebhook(c *Ctx, in *webhookUpdate) error { return checkNewWebhook(c, &in.webhookInput) }

func checkNewWebhook(c *Ctx, in *webhookInput) error {
	if !in.URL.Set {
		return nil
	}
	return checkHookURL(c, "url", in.URL.Value)
}

// checkHookURL refuses what is no address, and addresses within.
func checkHookURL(c *Ctx, field, address string) error {
	errs := &route.Errors{}
	if s := strings.ToLower(address); !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		errs.Add(field, "Enter a valid http(s) URL.")
	}
	if !route.ValidURL(address) {
		errs.Add(field, route.MsgURL)
	}
	if errs.Empty() && c.Env.Webhooks.Check(c.Context, address) != nil {
		errs.Add(field, webhook.MsgPrivate)
	}
	return errs.Err()
}

func createWebhook(c *Ctx, in webhookInput) (webhookJSON, error) {
	if len(c.webhooks()) >= maxWebhooks {
		return webhookJSON{}, route.BadRequest("There are as many webhooks here as there may be.")
	}
	w := fsm.Webhook{Organisation: c.Organisation.ID, Environment: c.Environment.ID, Enabled: true, CreatedAt: c.Now(), UpdatedAt: c.Now()}
	if w.Environment != 0 {
		w.Organisation = c.Project.Organisation
	}
	in.apply(&w)
	c.SetHeader("Location", w.URL) // as every creation in the reference whose answer has a url
	return renderWebhook(fsm.Webhooks.Put(c.Tx, w)), nil
}

func getWebhook(c *Ctx, in webhookRef) (webhookJSON, error) {
	w, err := findWebhook(c, in)
	return renderWebhook(w), err
}

func updateWebhook(c *Ctx, in webhookUpdate) (webhookJSON, error) {
	w, err := findWebhook(c, in.webhookRef)
	if err != nil {
		return webhookJSON{}, err
	}
	in.apply(&w)
	w.UpdatedAt = c.Now()
	return renderWebhook(fsm.Webhooks.Put(c.Tx, w)), nil
}

func deleteWebhook(c *Ctx, in webhookRef) (route.Empty, error) {
	w, err := findWebhook(c, in)
	if err != nil {
		return c.fail(err)
	}
	fsm.DeleteWebhook(c.Tx, w.ID)
	return c.OK()
}

// findWebhook gets a webhook of the environment or organisation in the path.
func findWebhook(c *Ctx, in webhookRef) (fsm.Webhook, error) {
	w, ok := fsm.Webhooks.Get(c, in.ID)
	switch {
	case ok && c.Environment.ID != 0 && w.Environment == c.Environment.ID:
		return w, nil
	case ok && c.Environment.ID == 0 && w.Environment == 0 && w.Organisation == c.Organisation.ID:
		return w, nil
	case c.Environment.ID == 0:
		return fsm.Webhook{}, route.NotFound("OrganisationWebhook")
	}
	return fsm.Webhook{}, route.NotFound(fsm.Webhooks.Name())
}

func (in webhookInput) apply(w *fsm.Webhook) {
	in.URL.Into(&w.URL)
	in.Enabled.Into(&w.Enabled)
	in.Secret.Into(&w.Secret)
}

func renderWebhook(w fsm.Webhook) webhookJSON {
	return webhookJSON{ID: w.ID, URL: w.URL, Enabled: w.Enabled, Secret: w.Secret, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt}
}
