package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
)

// Demo is what CreateDemo made.
type Demo struct {
	Project      fsm.Project
	Environments []fsm.Environment // Development, Production
	ServerKey    string            // of Production
}

// CreateDemo fills an organisation with an example: a project with a switch, a text, a number and a multivariate feature, a segment that
// overrides the text, the environments Development and Production, and a server-side key.
func CreateDemo(tx *fsm.Tx, organisation uint64) Demo {
	d := Demo{Project: fsm.Projects.Put(tx, fsm.Project{UUID: tx.NewUUID(), Name: "Demo", Organisation: organisation, CreatedDate: tx.Now(),
		OnlyAllowLowerCaseNames: true, StaleFlagsLimitDays: 30})}
	d.feature(tx, "new_checkout", "A plain switch.", "")
	banner := d.feature(tx, "banner_text", "A text; premium users see another one.", "Hello from flagraft")
	d.feature(tx, "page_size", "A number.", "25")
	button := d.feature(tx, "button_colour", "An experiment with three colours.", "blue")
	d.options(tx, button, "green", "orange")
	premium := d.premium(tx)
	for _, name := range []string{"Development", "Production"} {
		d.environment(tx, name, banner, premium)
	}
	key := fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: d.Environments[1].ID, Key: credential.NewServerKey(), Name: "demo",
		Active: true, CreatedAt: tx.Now()})
	d.ServerKey = key.Key
	return d
}

func (d *Demo) feature(tx *fsm.Tx, name, description, value string) fsm.Feature {
	f := fsm.Feature{UUID: tx.NewUUID(), Name: name, Project: d.Project.ID, Type: fsm.Standard, CreatedDate: tx.Now(), DefaultEnabled: true,
		Description: &description}
	if value != "" {
		f.InitialValue = &value
	}
	return fsm.Features.Put(tx, f)
}

// options splits a feature: a quarter of the identities for each value, the rest keep the feature's own.
func (d *Demo) options(tx *fsm.Tx, f fsm.Feature, values ...string) {
	f.Type = fsm.Multivariate
	fsm.Features.Put(tx, f)
	for _, v := range values {
		fsm.MultivariateOptions.Put(tx, fsm.MultivariateOption{UUID: tx.NewUUID(), Feature: f.ID,
			Value: fsm.FeatureValue{Type: fsm.Unicode, String: &v}, DefaultPercentageAllocation: 25})
	}
}

// premium is the segment of identities whose trait plan is premium.
func (d *Demo) premium(tx *fsm.Tx) fsm.Segment {
	property, value := "plan", "premium"
	condition := fsm.Condition{ID: tx.NextConditionID(), Operator: "EQUAL", Property: &property, Value: &value}
	inner := fsm.SegmentRule{ID: tx.NextSegmentRuleID(), Type: "ANY", Conditions: []fsm.Condition{condition}}
	return fsm.Segments.Put(tx, fsm.Segment{UUID: tx.NewUUID(), Name: "premium users", Project: d.Project.ID, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
		Version: 1, Rules: []fsm.SegmentRule{{ID: tx.NextSegmentRuleID(), Type: "ALL", Rules: []fsm.SegmentRule{inner}}}})
}

func (d *Demo) environment(tx *fsm.Tx, name string, overridden fsm.Feature, by fsm.Segment) {
	e := newEnvironment(tx, d.Project.ID)
	e.Name, e.UpdatedAt = name, tx.Now()
	e = fsm.Environments.Put(tx, e)
	for _, f := range fsm.FeaturesByProject.List(tx, d.Project.ID) {
		createDefaultState(tx, d.Project, f, e.ID)
	}
	d.Environments = append(d.Environments, e)
	text := "Thank you for being with us"
	segment := fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{UUID: tx.NewUUID(), Feature: overridden.ID, Segment: by.ID, Environment: e.ID})
	fsm.FeatureStates.Put(tx, fsm.FeatureState{UUID: tx.NewUUID(), Feature: overridden.ID, Environment: e.ID, FeatureSegment: segment.ID, Enabled: true,
		Value: fsm.FeatureValue{Type: fsm.Unicode, String: &text}, CreatedAt: tx.Now(), UpdatedAt: tx.Now(), LiveFrom: tx.Now(), Version: 1})
}
