package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
)

// Every feature state is written through createOverride, updateState and deleteState, whatever route asks: they book what changed as
// ADMIN §10 has it.

// createOverride stores a new segment or identity override. base is the value that the state would have had without one being sent: only a
// value that differs from it is booked, and being switched only when it differs from the environment's default.
func createOverride(c *Ctx, s fsm.FeatureState, base fsm.FeatureValue) fsm.FeatureState {
	s.UUID, s.Version = c.Tx.NewUUID(), 1
	s.CreatedAt, s.UpdatedAt = c.Now(), c.Now()
	if s.LiveFrom.IsZero() {
		s.LiveFrom = c.Now()
	}
	if s.Identity != 0 {
		c.holdIdentity(s.Identity)
	}
	s = fsm.FeatureStates.Put(c.Tx, s)
	texts := stateTexts(c, s)
	d, ok := fsm.FeatureStatesByEnvironment.First(c, s.Environment, fsm.StateDefault, s.Feature)
	switched := !ok || d.Enabled != s.Enabled
	if switched {
		c.Audit(s.Environment, fsm.AuditFeatureState, s.ID, texts.switched)
	}
	if !base.SameValue(s.Value) {
		c.Audit(s.Environment, fsm.AuditFeatureState, s.ID, texts.valued)
	} else if !switched {
		c.Tx.TouchEnvironment(s.Environment) // nothing to book, but clients must hear of it
	}
	return s
}

// updateState stores a changed state. before is the row that after was made of.
func updateState(c *Ctx, before, after fsm.FeatureState) fsm.FeatureState {
	after.UpdatedAt = c.Now()
	after = fsm.FeatureStates.Put(c.Tx, after)
	texts, booked := stateTexts(c, after), false
	audit := func(id uint64, text string) {
		c.Audit(after.Environment, fsm.AuditFeatureState, id, text)
		booked = true
	}
	if !before.Value.SameValue(after.Value) {
		audit(after.ID, texts.valued)
	}
	if before.Enabled != after.Enabled {
		audit(after.ID, texts.switched)
	}
	for range changedShares(before, after) {
		audit(after.Feature, texts.shared) // the reference names the feature's id under the state's type
	}
	if !booked && (before.LiveFrom != after.LiveFrom || !slices.Equal(before.Multivariate, after.Multivariate)) {
		c.Tx.TouchEnvironment(after.Environment)
	}
	return after
}

// changedShares counts the options whose share is another one now.
func changedShares(before, after fsm.FeatureState) (n int) {
	for _, v := range after.Multivariate {
		for _, old := range before.Multivariate {
			if old.ID == v.ID && (old.Percentage != v.Percentage || old.Option != v.Option) {
				n++
			}
		}
	}
	return n
}

// deleteState removes a default or an identity override. Segment overrides go with their feature segment.
func deleteState(c *Ctx, s fsm.FeatureState) {
	fsm.FeatureStates.Delete(c.Tx, s.ID)
	c.Audit(s.Environment, fsm.AuditFeatureState, s.ID, stateTexts(c, s).deleted)
}

// auditTexts are what the audit log says of a state.
type auditTexts struct {
	switched, valued, shared, deleted string
}

// stateTexts words the texts for the kind of the state.
func stateTexts(c *Ctx, s fsm.FeatureState) auditTexts {
	f, _ := fsm.Features.Get(c, s.Feature)
	switched := fsm.SwitchedText(c, s)
	switch s.Kind() {
	case fsm.StateSegment:
		segment := ""
		if fs := fsm.FeatureSegments.Ref(c, s.FeatureSegment); fs != nil {
			segment = segmentName(c, fs.Segment)
		}
		texts := segmentTexts(f.Name, segment)
		texts.switched = switched
		return texts
	case fsm.StateIdentity:
		i := identityName(c, s)
		of := "'" + f.Name + "' and identity '" + i + "'"
		return auditTexts{
			switched: switched,
			valued:   "Remote config value updated for identity override on feature " + of + ".",
			shared:   "Multivariate value changed for feature " + of + ".",
			deleted:  "Flag state / Remote config value deleted for feature " + of,
		}
	}
	return auditTexts{
		switched: switched,
		valued:   "Remote config value updated for feature: " + f.Name,
		shared:   "Multivariate value changed for feature '" + f.Name + "'.",
		deleted:  "Flag / Remote Config Deleted: " + f.Name,
	}
}

// segmentTexts are those of a segment's override but for switched, which takes its state.
func segmentTexts(feature, segment string) auditTexts {
	of := "'" + feature + "' and segment '" + segment + "'"
	return auditTexts{
		valued:  "Remote config updated for segment override on feature " + of + ".",
		shared:  "Multivariate value changed for feature " + of + ".",
		deleted: "Flag state / Remote config value deleted for feature " + of,
	}
}

func segmentName(r fsm.Reader, id uint64) string {
	if s := fsm.Segments.Ref(r, id); s != nil {
		return s.Name
	}
	return ""
}

// identityName is the identifier of the identity that a state overrides for.
func identityName(c *Ctx, s fsm.FeatureState) string {
	rec, ok := c.Identities().Environment(s.Environment).ByID(s.Identity)
	if !ok {
		return ""
	}
	return string(rec.Identifier())
}
