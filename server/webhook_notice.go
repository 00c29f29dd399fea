package server

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/flagraft/flagraft/fsm"
)

// noticePause is the least time between two mails about one webhook: one that takes some events and loses others would send many.
const noticePause = 24 * time.Hour

// notice is a mail that says that a webhook's events are given up.
type notice struct {
	to            []string
	subject, body string
}

// noticeOf is the mail for the first event that is given up since the webhook took one, or nil; the row notes that there is one. It comes
// before the event is finished.
func noticeOf(tx *fsm.Tx, lost hopelessEvent, webhook uint64) *notice {
	w, ok := fsm.Webhooks.Get(tx, webhook)
	if !ok || !w.Enabled || w.NoticeSent != 0 && w.NoticeSent.Add(noticePause) > tx.Now() {
		return nil
	}
	var last fsm.DeliveryOutcome
	for d := range fsm.WebhookDeliveriesDone.Refs(tx, w.ID) { // in the order in which they were done
		if d.Error != reasonDisabled { // nobody was told of those
			last = d.Outcome
		}
	}
	if last == fsm.DeliveryGivenUp {
		return nil
	}
	w.NoticeSent = tx.Now()
	fsm.Webhooks.Put(tx, w)
	return &notice{to: noticeAddresses(tx, w.Organisation), subject: "A webhook loses events", body: noticeText(tx, w, lost.reason)}
}

// noticeAddresses are the organisation's address for this, or its admins.
func noticeAddresses(r fsm.Reader, organisation uint64) []string {
	o, _ := fsm.Organisations.Get(r, organisation)
	if o.WebhookNotificationEmail != nil && *o.WebhookNotificationEmail != "" {
		return []string{*o.WebhookNotificationEmail}
	}
	var to []string
	for m := range fsm.MembershipsByOrganisation.Refs(r, organisation) {
		if u, ok := fsm.Users.Get(r, m.User); ok && u.IsActive && m.Role == fsm.RoleAdmin {
			to = append(to, u.Email)
		}
	}
	return to
}

// noticeText names the receiver by its host alone: paths and queries of webhooks hold secrets.
func noticeText(r fsm.Reader, w fsm.Webhook, reason string) string {
	host := ""
	if u, err := url.Parse(w.URL); err == nil {
		host = u.Host
	}
	o, _ := fsm.Organisations.Get(r, w.Organisation)
	of := fmt.Sprintf("the organisation %q", o.Name)
	if e, ok := fsm.Environments.Get(r, w.Environment); ok {
		p, _ := fsm.Projects.Get(r, e.Project)
		of = fmt.Sprintf("the environment %q of the project %q", e.Name, p.Name)
	}
	return fmt.Sprintf("The webhook %d of %s, at %s, does not take its events, so that they are given up, the oldest first. %s\n\n"+
		"Further ones may follow; there is no further mail until it has taken one again. What became of its events is at /api/flagraft/v1/webhooks/%d/deliveries/.\n",
		w.ID, of, cmp.Or(host, "an address that cannot be read"), reason, w.ID)
}
