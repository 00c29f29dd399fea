package admin

import (
	"slices"
	"strings"

	"github.com/flagraft/flagraft/eval/pattern"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureInput is what may be changed of a feature at any time.
type featureInput struct {
	Type            route.Optional[string]              `json:"type" v:"blank,choice=STANDARD|MULTIVARIATE"`
	Description     route.Optional[string]              `json:"description" v:"null,blank"`
	Tags            route.Optional[[]uint64]            `json:"tags" v:"pk"`
	Options         route.Optional[[]nestedOptionInput] `json:"multivariate_options" v:"null"`
	IsArchived      route.Optional[bool]                `json:"is_archived"`
	IsServerKeyOnly route.Optional[bool]                `json:"is_server_key_only"`
	Metadata        metadataList                        `json:"metadata"`
}

// nestedOptionInput is an option inside a feature; ID names the one to change.
type nestedOptionInput struct {
	ID route.Optional[uint64] `json:"id" v:"null"`
	optionInput
}

type featureCreate struct {
	Name           string                      `json:"name" v:"required,max=2000"`
	DefaultEnabled bool                        `json:"default_enabled"`
	InitialValue   route.Optional[route.Value] `json:"initial_value"`
	Owners         []uint64                    `json:"owners" v:"pk"`
	GroupOwners    []uint64                    `json:"group_owners" v:"pk"`
	featureInput
}

type featureUpdate struct {
	featureRef
	featureInput
}

func createFeature(c *Ctx, in featureCreate) (feature, error) {
	if err := in.allowed(c); err != nil {
		return feature{}, err
	}
	f := fsm.Feature{UUID: c.Tx.NewUUID(), Name: in.Name, Project: c.Project.ID, Type: fsm.Standard, CreatedDate: c.Now(),
		DefaultEnabled: in.DefaultEnabled, Owners: withIDs(nil, in.Owners), GroupOwners: withIDs(nil, in.GroupOwners)}
	errs := &route.Errors{}
	errs.Add("name", nameFaults(c, in.Name)...)
	in.setInitialValue(c, &f, errs)
	in.check(c, nil, errs)
	c.checkMetadata(fsm.ContentFeature, in.Metadata, true, errs)
	in.checkOwners(c, errs)
	if err := errs.Err(); err != nil {
		return feature{}, err
	}
	if err := in.room(c); err != nil {
		return feature{}, err
	}
	if id := c.Principal.UserID(); id != 0 && len(f.Owners) == 0 && len(f.GroupOwners) == 0 {
		f.Owners = []uint64{id}
	}
	in.apply(&f)
	f = fsm.Features.Put(c.Tx, f)
	c.putMetadata(fsm.ContentFeature, f.ID, in.Metadata)
	c.Audit(0, fsm.AuditFeature, f.ID, "New Flag / Remote Config created: "+f.Name)
	createDefaults(c, f)
	c.Feature = f
	for _, o := range in.Options.Value {
		addOption(c, o.option(c, f.ID))
	}
	if len(in.Options.Value) > 0 {
		f = settleType(c, f)
	}
	return featureScope{c: c, short: true}.render(f), nil
}

// createDefaults makes the feature's state in every environment of the project.
func createDefaults(c *Ctx, f fsm.Feature) {
	for _, e := range fsm.EnvironmentsByProject.List(c, f.Project) {
		s := createDefaultState(c.Tx, c.Project, f, e.ID)
		c.Tx.AuditOnly(fsm.AuditLog{Log: "New Flag / Remote Config created: " + f.Name, Project: f.Project, Environment: e.ID,
			RelatedObjectType: fsm.AuditFeatureState, RelatedObjectID: s.ID})
		if e.UseV2FeatureVersioning {
			c.Tx.StartVersions(e.ID, f.ID)
		}
	}
}

func putFeature(c *Ctx, in featureUpdate) (feature, error) {
	f, err := changeFeature(c, in.featureInput)
	if err != nil {
		return feature{}, err
	}
	return featureScope{c: c, mentions: c.codeMentions()}.render(f), nil
}

func patchFeature(c *Ctx, in featureUpdate) (feature, error) {
	out, err := putFeature(c, in)
	out.IsNumComplete = nil
	return out, err
}

func changeFeature(c *Ctx, in featureInput) (fsm.Feature, error) {
	before := c.Feature
	if err := in.allowed(c); err != nil {
		return before, err
	}
	errs := &route.Errors{}
	in.check(c, fsm.MultivariateOptionsByFeature.List(c, before.ID), errs)
	c.checkMetadata(fsm.ContentFeature, in.Metadata, false, errs)
	if err := errs.Err(); err != nil {
		return before, err
	}
	f := before
	in.apply(&f)
	if _, ok := fsm.MultivariateOptionsByFeature.First(c, f.ID); ok {
		f.Type = fsm.Multivariate // its options are served, whatever type is sent
	}
	f = fsm.Features.Put(c.Tx, f)
	c.putMetadata(fsm.ContentFeature, f.ID, in.Metadata)
	if f.Type != before.Type || f.IsArchived != before.IsArchived || f.IsServerKeyOnly != before.IsServerKeyOnly ||
		!sameText(f.Description, before.Description) {
		c.Audit(0, fsm.AuditFeature, f.ID, "Flag / Remote Config updated: "+f.Name)
	}
	if in.Options.Set && !in.Options.Null {
		c.Feature = f
		replaceOptions(c, in.Options.Value)
		f = settleType(c, f)
	}
	return f, nil
}

// replaceOptions makes the feature's options those that were sent: known ids change, the others are new, what is missing goes.
func replaceOptions(c *Ctx, sent []nestedOptionInput) {
	for _, o := range fsm.MultivariateOptionsByFeature.List(c, c.Feature.ID) {
		i := slices.IndexFunc(sent, func(in nestedOptionInput) bool { return in.ID.Value == o.ID })
		if i < 0 {
			removeOption(c, o)
			continue
		}
		sent[i].apply(c, &o.Value, &route.Errors{}) // was checked
		sent[i].Percentage.Into(&o.DefaultPercentageAllocation)
		replaceOption(c, o)
	}
	for _, in := range sent {
		if o, ok := fsm.MultivariateOptions.Get(c, in.ID.Value); !ok || o.Feature != c.Feature.ID {
			addOption(c, in.option(c, c.Feature.ID))
		}
	}
}

// option makes the row of a new option.
func (in nestedOptionInput) option(c *Ctx, feature uint64) fsm.MultivariateOption {
	o := newOption(feature)
	in.apply(c, &o.Value, &route.Errors{}) // was checked
	in.Percentage.Into(&o.DefaultPercentageAllocation)
	return o
}

// allowed keeps options to project admins.
func (in featureInput) allowed(c *Ctx) error {
	if len(in.Options.Value) > 0 && !c.IsProjectAdmin(c.Project) {
		return route.Forbidden("User must be project admin to modify / create MV options.")
	}
	return nil
}

// check collects what is wrong; have are the options that the feature has.
func (in featureInput) check(c *Ctx, have []fsm.MultivariateOption, errs *route.Errors) {
	for _, id := range in.Tags.Value {
		if t := fsm.Tags.Ref(c, id); t == nil {
			errs.Add("tags", route.InvalidPKText(id))
		} else if t.Project != c.Project.ID {
			errs.Add("tags", "Selected Tags must be from the same Project as current Feature")
		}
	}
	total := 0.0
	for i, o := range in.Options.Value {
		scratch := &route.Errors{}
		o.apply(c, &fsm.FeatureValue{}, scratch)
		if !scratch.Empty() {
			*errs.At("multivariate_options").Item(i) = *scratch
		}
		total += o.share(have)
	}
	if fsm.MoreThanWhole(total) {
		errs.Add("multivariate_options", MsgAllocation)
	}
}

// share is the default share that the option will have.
func (in nestedOptionInput) share(have []fsm.MultivariateOption) float64 {
	i := slices.IndexFunc(have, func(o fsm.MultivariateOption) bool { return o.ID == in.ID.Value })
	if i >= 0 {
		return in.Percentage.Or(have[i].DefaultPercentageAllocation)
	}
	return in.Percentage.Or(100)
}

// apply changes the row, options left out.
func (in featureInput) apply(f *fsm.Feature) {
	if in.Type.Value != "" {
		f.Type = fsm.FeatureType(in.Type.Value)
	}
	in.Description.IntoPtr(&f.Description)
	if in.Tags.Set {
		f.Tags = withIDs(nil, in.Tags.Value)
	}
	in.IsArchived.Into(&f.IsArchived)
	in.IsServerKeyOnly.Into(&f.IsServerKeyOnly)
}

// nameFaults says what is wrong with the name of a new feature.
func nameFaults(c *Ctx, name string) []string {
	if expression := c.Project.FeatureNameRegex; expression != nil && *expression != "" {
		// A pattern that this engine refuses cannot be judged: it forbids nothing.
		if re := pattern.Python("(?:" + *expression + ")$"); re != nil && !re.MatchString(name) {
			return []string{"Feature name must match regex: " + *expression}
		}
	}
	if _, taken := fsm.FeaturesByName.First(c, c.Project.ID, strings.ToLower(name)); taken {
		return []string{"Feature with that name already exists for this project. Note that feature names are case insensitive."}
	}
	return nil
}

// setInitialValue stores the text of the initial value: what is no text becomes what Python's str() makes of it, except values that Python
// holds for false (FACTS §8).
func (in featureCreate) setInitialValue(c *Ctx, f *fsm.Feature, errs *route.Errors) {
	v := in.InitialValue.Value
	switch v.Kind {
	case route.Missing, route.Null:
		return
	case route.Upload:
		errs.Add("initial_value", route.MsgString)
		return
	case route.Bool, route.List, route.Object:
		if v.Text == "false" || v.Kind == route.List && len(v.Items) == 0 || v.Kind == route.Object && len(v.Members) == 0 {
			errs.Add("initial_value", route.MsgString)
			return
		}
	}
	s := strings.TrimSpace(route.PythonStr(v))
	if msg := c.valueFault(s); msg != "" {
		errs.Add("initial_value", msg)
		return
	}
	f.InitialValue = &s
}

// checkOwners refuses owners from outside the organisation, and a feature without any where the project demands them.
func (in featureCreate) checkOwners(c *Ctx, errs *route.Errors) {
	for _, id := range in.Owners {
		if !c.areUsers([]uint64{id}) {
			errs.Add("owners", route.InvalidPKText(id))
		}
	}
	for _, id := range in.GroupOwners {
		if !c.areGroups([]uint64{id}) {
			errs.Add("group_owners", route.InvalidPKText(id))
		}
	}
	if errs.Empty() && c.Project.EnforceFeatureOwners && len(in.Owners)+len(in.GroupOwners) == 0 {
		errs.NonField("This project requires at least one owner or group owner when creating a feature.")
	}
}

// room refuses a feature too many.
func (in featureCreate) room(c *Ctx) error {
	if full(fsm.FeaturesByProject.Count(c, c.Project.ID), c.Env.Options.MaxFeatures) {
		return route.Field("project", "The Project has reached the maximum allowed features limit.")
	}
	return nil
}

func sameText(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}
