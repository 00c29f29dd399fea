package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Overrides written through the uuid face are booked in its words: one row a change, about the identity. Like every row they move updated_at
// on; the reference leaves it, but here the environment document holds them.

// saveEdgeOverride stores an override that before (its id 0: none) became.
func saveEdgeOverride(c *Ctx, rec *identity.Record, before, after fsm.FeatureState) fsm.FeatureState {
	fresh := before.ID == 0
	if fresh {
		c.holdIdentity(rec.ID())
		after.UUID, after.Version = c.Tx.NewUUID(), 1
		after.CreatedAt = c.Now()
		if after.LiveFrom.IsZero() { // no copy of one that is scheduled
			after.LiveFrom = c.Now()
		}
	} else if sameOverride(before, after) {
		return before
	}
	after.UpdatedAt = c.Now()
	after = fsm.FeatureStates.Put(c.Tx, after)
	switch {
	case fresh:
		auditEdgeOverride(c, rec, after, "created")
	case before.Enabled != after.Enabled || !c.valueFor(&before, rec).SameValue(c.valueFor(&after, rec)):
		auditEdgeOverride(c, rec, after, "updated")
	default:
		c.Tx.TouchEnvironment(c.Environment.ID)
	}
	return after
}

func sameOverride(a, b fsm.FeatureState) bool {
	return a.UUID == b.UUID && a.Enabled == b.Enabled && a.Value.Type == b.Value.Type && a.Value.SameValue(b.Value) &&
		slices.Equal(a.Multivariate, b.Multivariate)
}

func deleteEdgeOverride(c *Ctx, rec *identity.Record, s fsm.FeatureState) {
	fsm.FeatureStates.Delete(c.Tx, s.ID)
	auditEdgeOverride(c, rec, s, "deleted")
}

func auditEdgeOverride(c *Ctx, rec *identity.Record, s fsm.FeatureState, what string) {
	f, _ := fsm.Features.Get(c, s.Feature)
	c.Tx.Audit(fsm.AuditLog{
		Log:     "Feature override " + what + " for feature '" + f.Name + "' and identity '" + string(rec.Identifier()) + "'",
		Project: c.Project.ID, Environment: c.Environment.ID,
		RelatedObjectType: fsm.AuditEdgeIdentity, RelatedObjectUUID: uuid.UUID(rec.UUID()),
	})
}
