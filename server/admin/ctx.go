package admin

import (
	"log/slog"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// API serves the rows of this package. Its fields are set once, before use.
type API struct {
	FSM        *fsm.FSM
	Writer     *fsm.Writer
	Views      *fsm.Views
	Identities *fsm.IdentityWriter
	Usage      *fsm.UsageCounter
	Passwords  *Passwords
	Clock      func() time.Time
	Log        *slog.Logger
	Version    string // shown as Flagsmith-Version and image_tag
}

// Ctx is one request as a function of this package sees it. The objects that
// the row's permission was checked on are loaded.
type Ctx struct {
	*route.Call
	API *API
	// Reader reads the tables: the applied state, or the transaction.
	Reader fsm.Reader
	// Tx is the transaction of a write, nil in a read.
	Tx        *fsm.Tx
	Principal Principal

	Organisation fsm.Organisation
	Project      fsm.Project
	Environment  fsm.Environment
	Feature      fsm.Feature
}

// Now is the time of the request: the transaction's, or the wall clock.
func (c *Ctx) Now() fsm.Time {
	if c.Tx != nil {
		return c.Tx.Now()
	}
	return fsm.TimeOf(c.API.Clock())
}

// audit adds an audit row about an object of c's project and moves updated_at of
// the environment on, or of every environment of the project when it is 0.
func (c *Ctx) audit(environment uint64, related string, id uint64, log string) {
	c.Tx.Audit(fsm.AuditLog{
		Log: log, Project: c.Project.ID, Environment: environment,
		RelatedObjectType: related, RelatedObjectID: id,
	})
}
