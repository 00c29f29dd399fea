package fsm

// Webhook is an address that is told of changes: of one environment, or of a
// whole organisation.
type Webhook struct {
	ID           uint64 `cbor:"1,keyasint"`
	Organisation uint64 `cbor:"2,keyasint"`
	Environment  uint64 `cbor:"3,keyasint,omitempty"`    // 0: the organisation's
	URL          string `cbor:"4,keyasint" secret:"url"` // chat services put the right to post into its path
	Enabled      bool   `cbor:"5,keyasint,omitempty"`
	Secret       string `cbor:"6,keyasint,omitempty" secret:"true"` // signs the bodies; empty: they are not signed
	CreatedAt    Time   `cbor:"7,keyasint"`
	UpdatedAt    Time   `cbor:"8,keyasint"`
	NoticeSent   Time   `cbor:"9,keyasint,omitempty"` // the last mail that says that events are given up
}

// Webhooks is the table of webhooks. An environment's are not among those of
// WebhooksByOrganisation.
var (
	Webhooks               = newTable[Webhook](40, "Webhook", func(w *Webhook) *uint64 { return &w.ID }, nil).since(3)
	WebhooksByEnvironment  = Webhooks.index("environment", func(w *Webhook, k Key) (Key, bool) { return k.Uint(w.Environment), w.Environment != 0 })
	WebhooksByOrganisation = Webhooks.index("organisation", func(w *Webhook, k Key) (Key, bool) { return k.Uint(w.Organisation), w.Environment == 0 })
)

// DeleteWebhook removes a webhook with what waits for it and what became of the rest.
func DeleteWebhook(tx *Tx, id uint64) {
	WebhookDeliveriesByWebhook.DeleteAll(tx, id)
	Webhooks.Delete(tx, id)
}

// DeliveryOutcome is what became of a delivery.
type DeliveryOutcome uint8

// The outcomes. Only what waits is ever sent.
const (
	DeliveryWaiting   DeliveryOutcome = 0
	DeliveryDelivered DeliveryOutcome = 1 // answered with 2xx
	DeliveryRefused   DeliveryOutcome = 2 // answered with something that repeating would not change
	DeliveryGivenUp   DeliveryOutcome = 3 // never answered, in time
)

// String names the outcome as the API shows it.
func (o DeliveryOutcome) String() string {
	switch o {
	case DeliveryWaiting:
		return "waiting"
	case DeliveryDelivered:
		return "delivered"
	case DeliveryRefused:
		return "refused"
	case DeliveryGivenUp:
		return "given_up"
	}
	return "unknown"
}

// WebhookDelivery is one event on its way to one webhook, and afterwards the
// record of it. The rows of a webhook that wait are its queue: in the order of
// their ids, which is that of the writes they tell of. The first of them is
// where a new leader goes on.
type WebhookDelivery struct {
	ID       uint64          `cbor:"1,keyasint"`
	Webhook  uint64          `cbor:"2,keyasint"`
	Event    string          `cbor:"3,keyasint"`
	Created  Time            `cbor:"4,keyasint"`
	Body     []byte          `cbor:"5,keyasint,omitempty"` // JSON as it is sent; gone once it is done
	Outcome  DeliveryOutcome `cbor:"6,keyasint,omitempty"`
	Attempts uint32          `cbor:"7,keyasint,omitempty"`
	Tried    Time            `cbor:"8,keyasint,omitempty"`  // last
	Due      Time            `cbor:"9,keyasint,omitempty"`  // not before
	Status   uint16          `cbor:"10,keyasint,omitempty"` // of the last answer; 0: there was none
	Error    string          `cbor:"11,keyasint,omitempty"`
}

// WebhookDeliveries is the table of deliveries.
var (
	WebhookDeliveries          = newTable[WebhookDelivery](41, "WebhookDelivery", func(d *WebhookDelivery) *uint64 { return &d.ID }, nil).since(3)
	WebhookDeliveriesByWebhook = WebhookDeliveries.index("webhook", func(d *WebhookDelivery, k Key) (Key, bool) { return k.Uint(d.Webhook), true })
	WebhookDeliveriesWaiting   = WebhookDeliveries.index("waiting", func(d *WebhookDelivery, k Key) (Key, bool) {
		return k.Uint(d.Webhook), d.Outcome == DeliveryWaiting
	})
	WebhookDeliveriesDone = WebhookDeliveries.index("done", func(d *WebhookDelivery, k Key) (Key, bool) {
		return k.Uint(d.Webhook), d.Outcome != DeliveryWaiting
	})
)

// Finish ends a delivery that waited and keeps the newest of the webhook's
// records, so many of them.
func (d WebhookDelivery) Finish(tx *Tx, o DeliveryOutcome, keep int) {
	d.Outcome, d.Body, d.Due = o, nil, 0
	WebhookDeliveries.Put(tx, d)
	records := WebhookDeliveriesDone.List(tx, d.Webhook) // never more than one beyond what is kept
	for _, old := range records[:max(0, len(records)-keep)] {
		WebhookDeliveries.Delete(tx, old.ID)
	}
}
