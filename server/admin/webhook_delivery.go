package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// deliveryJSON is one event on its way to a webhook, or what became of it.
type deliveryJSON struct {
	ID        uint64   `json:"id"` // the Flagraft-Delivery header of the request
	EventType string   `json:"event_type"`
	CreatedAt fsm.Time `json:"created_at"`
	Outcome   string   `json:"outcome"`
	Attempts  uint32   `json:"attempts"`
	TriedAt   fsm.Time `json:"tried_at"`
	DueAt     fsm.Time `json:"due_at"` // null once it is done
	Status    *uint16  `json:"status"` // of the last answer
	Error     string   `json:"error"`
}

type deliveryFilter struct {
	Outcome string `query:"outcome" v:"blank,choice=waiting|delivered|refused|given_up"`
}

func webhookDeliveryRows() []route.Row {
	return []route.Row{{
		Method: "GET", Path: "/api/flagraft/v1/webhooks/{webhook_pk}/deliveries/", OperationID: "flagraft_v1_webhooks_deliveries_list", Tag: "Webhooks",
		Summary: "What waits for a webhook and what became of its last deliveries, newest first.",
		Auth:    route.Admin, Permission: Custom("organisation admin or environment permission VIEW_ENVIRONMENT, as the webhook is of", seesWebhook), Handler: read(listDeliveries),
	}}
}

// seesWebhook lets those in who may list the webhook where it belongs. For others it is not there.
func seesWebhook(c *Ctx) error {
	id, _ := parseID(c.Param("webhook_pk"))
	w, ok := fsm.Webhooks.Get(c, id)
	if ok && w.Environment != 0 {
		c.Environment, ok = fsm.Environments.Get(c, w.Environment)
		ok = ok && c.HasEnvironment(c.Environment, "VIEW_ENVIRONMENT")
	} else if ok {
		ok = c.IsOrganisationAdmin(w.Organisation)
	}
	if !ok {
		return route.NotFound(fsm.Webhooks.Name())
	}
	return nil
}

func listDeliveries(c *Ctx, in deliveryFilter) (route.SizedPage[deliveryJSON], error) {
	id, _ := parseID(c.Param("webhook_pk"))
	rows := slices.Collect(fsm.WebhookDeliveriesByWebhook.Refs(c, id))
	rows = slices.DeleteFunc(rows, func(d *fsm.WebhookDelivery) bool { return in.Outcome != "" && d.Outcome.String() != in.Outcome })
	slices.Reverse(rows)
	return paginateSized(c, rows, renderDelivery)
}

func renderDelivery(d *fsm.WebhookDelivery) deliveryJSON {
	out := deliveryJSON{ID: d.ID, EventType: d.Event, CreatedAt: d.Created, Outcome: d.Outcome.String(), Attempts: d.Attempts, TriedAt: d.Tried,
		DueAt: d.Due, Error: d.Error}
	if d.Status != 0 {
		out.Status = &d.Status
	}
	return out
}
