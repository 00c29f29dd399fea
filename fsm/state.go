package fsm

import "github.com/flagraft/flagraft/fsm/identity"

// Reader is a consistent view of the tables: a [State] or a [Tx].
type Reader interface {
	read() *rows
	// Now is the time of the reader: of the last applied write, or of the
	// transaction itself. Expiry is judged against the caller's clock instead.
	Now() Time
	// Identities are the identity stores. They are newer than the tables when
	// batches were applied since.
	Identities() *identity.Stores
}

// State is the whole replicated state as of one log index. It is immutable and
// may be read by any number of goroutines; later entries make new States.
// Identities alone are live: the store's records are immutable, the store is not.
type State struct {
	Index   uint64 // of the last applied entry of any kind
	Seq     uint64 // number of the last changeset
	Time    Time   // of the last applied entry
	Genesis Genesis

	rows        *rows
	identities  *identity.Stores
	rowsHash    digest
	identitySum identity.Sum
	sizes       sizes
}

func (s *State) read() *rows { return s.rows }

// Now returns the time of the last applied entry.
func (s *State) Now() Time { return s.Time }

// Identities returns the identity stores.
func (s *State) Identities() *identity.Stores { return s.identities }

// Born reports whether the state has its genesis: before it nothing can be written.
func (s *State) Born() bool { return !s.Genesis.Time.IsZero() }

// sizes are the bytes of memory held by the tables that have a cap in bytes, about.
// They follow from the rows, so snapshots do not carry them.
type sizes struct {
	changeLog uint64
	answers   uint64
	audit     uint64
	usage     uint64
	webhooks  uint64 // of what waits
	waiting   uint64 // deliveries, not bytes
}

func (s *sizes) changed(before, after any) {
	for i, object := range []any{before, after} {
		sign := uint64(i*2 - 1) // -1, then 1
		switch row := object.(type) {
		case *stored[ChangeLogEntry]:
			s.changeLog += sign * changeLogMemory.of(len(row.raw))
		case *stored[IdempotencyKey]:
			s.answers += sign * answerMemory.of(len(row.raw))
		case *stored[AuditLog]:
			s.audit += sign * auditMemory.of(len(row.raw))
		case *stored[Usage]:
			s.usage += sign * usageMemory.of(len(row.raw))
		case *stored[WebhookDelivery]:
			if row.row.Outcome == DeliveryWaiting {
				s.webhooks += sign * uint64(len(row.raw))
				s.waiting += sign
			}
		}
	}
}

// rowMemory is what rows of a table take: something each, for its fields and for the
// nodes of the trees that lead to it, and its bytes so many times over, for they are
// kept as they came, decoded, and in keys.
type rowMemory struct{ each, times uint64 }

func (m rowMemory) of(bytes int) uint64 { return m.each + m.times*uint64(bytes) }

// Measured, by TestHeldIsTheMemoryOfRows.
var (
	changeLogMemory = rowMemory{150, 2}
	auditMemory     = rowMemory{370, 2}
	answerMemory    = rowMemory{450, 2}
	usageMemory     = rowMemory{300, 3}
)

// Held is how many bytes of memory the rows of the growing tables hold, about; of
// webhooks, the bytes of what waits.
type Held struct {
	ChangeLog, Answers, Audit, Usage, Webhooks uint64
}

// Held returns the bytes held by the tables that have a cap in bytes.
func (s *State) Held() Held {
	return Held{ChangeLog: s.sizes.changeLog, Answers: s.sizes.answers, Audit: s.sizes.audit, Usage: s.sizes.usage, Webhooks: s.sizes.webhooks}
}

// DeliveriesWaiting is how many deliveries to webhooks wait.
func (s *State) DeliveriesWaiting() uint64 { return s.sizes.waiting }
