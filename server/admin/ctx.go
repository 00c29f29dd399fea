package admin

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/webhook"
)

// Ctx is one request of the admin API. It is the request's fsm.Reader: the newest state that satisfies its consistency, or the
// transaction of a write.
type Ctx struct {
	*route.Call
	fsm.Reader

	// Tx is the transaction of a write; nil in a read and in before.
	Tx *fsm.Tx
	// Principal is who calls.
	Principal Principal
	// Env is what the installation offers.
	Env *Env

	// The objects that the row's permission looked up; zero where it did not.
	Organisation fsm.Organisation
	Project      fsm.Project
	Environment  fsm.Environment
	Feature      fsm.Feature

	identityOps int
	late        error
	mails       []mailed
}

// Env is what handlers may use besides the state. It is shared by all requests.
type Env struct {
	// Log is the server's.
	Log *slog.Logger
	// Clock is the wall clock. Handlers use c.Now() or c.Wall() instead.
	Clock func() time.Time
	// Options are the settings that the admin API obeys.
	Options Options
	// Passwords hashes and verifies, a bounded number at a time.
	Passwords Passwords
	// Throttle counts requests on this node.
	Throttle *Throttle
	// Lockout counts failed sign-ins on this node.
	Lockout *Lockout
	// ReadyNodes is how many nodes share the requests; nil: one.
	ReadyNodes func() int
	// Version is the binary's.
	Version string
	// Views are this node's compiled environments, for the operations that evaluate.
	Views *fsm.Views
	// Identities writes identity operations of before steps: what a transaction needs to exist.
	Identities IdentityWriter
	// Mailer sends mails; handlers use Ctx.Mail.
	Mailer Mailer
	// SiteURL is where links in mails point; handlers use Env.Link.
	SiteURL string
	// Webhooks calls webhooks, and judges their addresses.
	Webhooks *webhook.Sender
	// Document renders the SDK environment document; nil until the server has set it.
	Document func(environment uint64) ([]byte, error)
}

// IdentityWriter commits identity operations: *[fsm.IdentityWriter].
type IdentityWriter interface {
	// Write returns once the operations are applied on this node. Results are nil when the answer was lost: the store has the truth.
	Write(ctx context.Context, ops []identity.Op) (index uint64, results []identity.Result, err error)
}

// Passwords hashes and verifies passwords: package credential. Both wait for a free place, or for the context.
type Passwords interface {
	Hash(ctx context.Context, password string) (string, error)
	Verify(ctx context.Context, hash, password string) (bool, error)
}

// Options are the settings that the admin API obeys.
type Options struct {
	// AllowRegistrationWithoutInvite lets anybody sign up.
	AllowRegistrationWithoutInvite bool
	// PreventSignup refuses every registration.
	PreventSignup bool
	// RestrictOrganisationCreateToSuperusers as named.
	RestrictOrganisationCreateToSuperusers bool
	// DisableInviteLinks as named.
	DisableInviteLinks bool
	// DisableWebhooks lets nobody call an address.
	DisableWebhooks bool
	// PublicURL is the address of the API, FrontendURL of the front end; empty: unknown.
	PublicURL, FrontendURL string
	// EmailActivation makes new accounts wait for a mail to be answered.
	EmailActivation bool
	// LoginPerMinute is the limit of sign-ins, and of mails asked for, per client address.
	LoginPerMinute int
	// UsagePerMinute is the limit of requests for usage counts per caller.
	UsagePerMinute int
	// AdminPerMinute is the limit of requests per account or organisation key; 0: none.
	AdminPerMinute int
	// E2EToken in X-E2E-Test-Auth-Token lifts the limits of requests; empty: off.
	E2EToken string

	// The most that one project or environment may hold; 0: any number.
	MaxFeatures, MaxSegments, MaxSegmentOverrides int
	// FeatureValueLimit is the longest feature value in characters.
	FeatureValueLimit int
	// SegmentConditions is the largest number of conditions in a segment.
	SegmentConditions int
}

// Principal is who calls: a user, an organisation key, or nobody.
type Principal struct {
	User *fsm.User
	Key  *fsm.MasterAPIKey
	// Token is what a program shows that acts for User; nil when the user calls.
	Token *fsm.OAuthToken
}

// Anonymous reports a call without credentials.
func (p Principal) Anonymous() bool { return p.User == nil && p.Key == nil }

// UserID is the user's id, or 0.
func (p Principal) UserID() uint64 {
	if p.User == nil {
		return 0
	}
	return p.User.ID
}

// Author names the principal in the change log.
func (p Principal) Author() fsm.Author {
	switch {
	case p.User != nil:
		return fsm.Author{User: p.User.ID, Name: p.User.Email}
	case p.Key != nil:
		return fsm.Author{MasterAPIKey: p.Key.ID, Name: p.Key.Name}
	}
	return fsm.Author{}
}

// Scope names the principal for idempotency keys: those of two callers never meet.
func (p Principal) Scope() string {
	switch {
	case p.User != nil:
		return "user:" + strconv.FormatUint(p.User.ID, 10)
	case p.Key != nil:
		return "key:" + strconv.FormatUint(p.Key.ID, 10)
	}
	return "anonymous"
}

// From finds the Ctx that the server attached to a call.
func From(call *route.Call) *Ctx { return call.State.(*Ctx) }

// Identity adds an identity operation to the write. applied, which may be nil, gets its result before the answer is encoded: it may fill
// in ids of the output through a pointer, which the output then must be.
func (c *Ctx) Identity(op identity.Op, applied func(identity.Result)) {
	c.identityOps++
	c.Tx.Identity(op, applied)
}

// RefuseLate makes err the answer of a write whose identity operation turned out, when it was applied, to have done nothing: somebody else
// had taken the identifier meanwhile. It is for the applied function of Identity.
func (c *Ctx) RefuseLate(err error) { c.late = err }

// WroteIdentities reports whether the answer may still change when the write is applied.
func (c *Ctx) WroteIdentities() bool { return c.identityOps > 0 }

// Now is the time of the request, which is never before that of an earlier write: the transaction's, or the wall clock.
func (c *Ctx) Now() fsm.Time {
	if c.Tx != nil {
		return c.Tx.Now()
	}
	if s, ok := c.Reader.(*fsm.State); ok {
		return max(c.Wall(), s.Time) // what was stored is not still to come
	}
	return c.Wall()
}

// Wall is the wall clock, in writes too. Now stays ahead of it for as long as the clock of a leader was ahead: what the world outside has to
// agree with, or waits for, goes by Wall.
func (c *Ctx) Wall() fsm.Time { return fsm.TimeOf(c.Env.Clock()) }

// Audit adds a row to the audit log about an object of c.Project and moves updated_at of the environment on, or of every environment of
// the project when environment is 0.
func (c *Ctx) Audit(environment uint64, objectType string, objectID uint64, log string) {
	c.Tx.Audit(fsm.AuditLog{Log: log, Project: c.Project.ID, Environment: environment, RelatedObjectType: objectType, RelatedObjectID: objectID})
}

// OK is the result of operations that answer without a body.
func (c *Ctx) OK() (route.Empty, error) { return route.Empty{}, nil }

// fail is OK for errors.
func (c *Ctx) fail(err error) (route.Empty, error) { return route.Empty{}, err }
