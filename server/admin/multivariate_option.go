package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// nestedOption is one value of a multivariate feature, inside the feature.
type nestedOption struct {
	ID           uint64        `json:"id"`
	UUID         uuid.UUID     `json:"uuid"`
	Type         fsm.ValueType `json:"type"`
	IntegerValue *int64        `json:"integer_value"`
	StringValue  *string       `json:"string_value"`
	BooleanValue *bool         `json:"boolean_value"`
	Percentage   float64       `json:"default_percentage_allocation"`
	Key          *string       `json:"key"`
}

// option is one by itself.
type option struct {
	nestedOption
	Feature uint64 `json:"feature"`
}

// optionInput is what both ways of writing an option take. A new option has the share 100 unless one is sent.
type optionInput struct {
	typedInput
	Percentage route.Optional[float64] `json:"default_percentage_allocation" v:"min=0,max=100"`
}

type optionWrite struct {
	ID      uint64                 `path:"id"`
	Feature route.Optional[uint64] `json:"feature" v:"required,pk"`
	Key     route.Optional[string] `json:"key" v:"null,slug,max=255"`
	optionInput
}

type optionCreate struct {
	Feature uint64                 `json:"feature" v:"required,pk"`
	Key     route.Optional[string] `json:"key" v:"null,slug,max=255"`
	optionInput
}

// MsgAllocation is the refusal of options that together exceed the whole.
const MsgAllocation = "Invalid percentage allocation"

func multivariateOptionRows() []route.Row {
	const list, detail = "/api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/", "/api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/{id}/"
	project, feature := Path("project_pk"), Path("feature_pk")
	view, edit := ProjectPermission("VIEW_PROJECT", project).Feature(feature), ProjectPermission("CREATE_FEATURE", project).Feature(feature)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_feature_multivariate_options", Tag: "Multivariate options", Auth: route.Admin,
			Permission: view, Handler: read(listOptions)},
		{Method: "POST", Path: list, OperationID: "create_feature_multivariate_option", Tag: "Multivariate options", Auth: route.Admin,
			Permission: edit, Kind: route.Write, Status: 201, Handler: write(createOption)},
		{Method: "GET", Path: detail, OperationID: "api_v1_projects_features_mv_options_retrieve", Tag: "Multivariate options", Auth: route.Admin,
			Permission: ProjectAdmin(project).Feature(feature), Handler: read(getOption)},
		{Method: "PUT", Path: detail, OperationID: "update_feature_multivariate_option", Tag: "Multivariate options", Auth: route.Admin,
			Permission: edit, Kind: route.Write, Handler: write(updateOption)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_projects_features_mv_options_partial_update", Tag: "Multivariate options", Auth: route.Admin,
			Permission: edit, Kind: route.Write, Handler: write(updateOption)},
		{Method: "DELETE", Path: detail, OperationID: "delete_feature_multivariate_option", Tag: "Multivariate options", Auth: route.Admin,
			Permission: edit, Kind: route.Write, Status: 204, Handler: write(deleteOption)},
		{Method: "GET", Path: "/api/v1/multivariate/options/get-by-uuid/{uuid}/", OperationID: "api_v1_multivariate_options_get_by_uuid_retrieve",
			Tag: "Multivariate options", Auth: route.Admin, NoHead: true, Handler: read(optionByUUID)},
	}
}

func listOptions(c *Ctx, _ struct{}) (route.Page[option], error) {
	return paginate(c, fsm.MultivariateOptionsByFeature.List(c, c.Feature.ID), renderOption)
}

func getOption(c *Ctx, in struct {
	ID uint64 `path:"id"`
}) (option, error) {
	o, err := findOption(c, in.ID)
	return renderOption(o), err
}

func optionByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (option, error) {
	o, ok := fsm.MultivariateOptionsByUUID.First(c, in.UUID)
	f, _ := fsm.Features.Get(c, o.Feature)
	if ok {
		c.Project, ok = fsm.Projects.Get(c, f.Project)
	}
	if !ok || !c.HasProject(c.Project, "VIEW_PROJECT") {
		return option{}, route.NotFound(fsm.MultivariateOptions.Name())
	}
	return renderOption(o), nil
}

// findOption gets an option of the feature in the path.
func findOption(c *Ctx, id uint64) (fsm.MultivariateOption, error) {
	o, ok := fsm.MultivariateOptions.Get(c, id)
	if !ok || o.Feature != c.Feature.ID {
		return o, route.NotFound(fsm.MultivariateOptions.Name())
	}
	return o, nil
}

func createOption(c *Ctx, in optionCreate) (option, error) {
	o := newOption(c.Feature.ID)
	if err := changeOption(c, &o, in.Feature, in.Key, in.optionInput); err != nil {
		return option{}, err
	}
	if !hasRoom(c, o) {
		return option{}, route.Field("default_percentage_allocation", MsgAllocation)
	}
	o = addOption(c, o)
	settleType(c, c.Feature)
	return renderOption(o), nil
}

func updateOption(c *Ctx, in optionWrite) (option, error) {
	o, err := findOption(c, in.ID)
	if err != nil {
		return option{}, err
	}
	if !in.Feature.Set {
		in.Feature = route.Some(o.Feature)
	}
	if err := changeOption(c, &o, in.Feature.Value, in.Key, in.optionInput); err != nil {
		return option{}, err
	}
	return renderOption(replaceOption(c, o)), nil
}

func deleteOption(c *Ctx, in struct {
	ID uint64 `path:"id"`
}) (route.Empty, error) {
	o, err := findOption(c, in.ID)
	if err != nil {
		return c.fail(err)
	}
	removeOption(c, o)
	settleType(c, c.Feature)
	return c.OK()
}

// changeOption checks what was sent and changes o, which is not stored.
func changeOption(c *Ctx, o *fsm.MultivariateOption, feature uint64, key route.Optional[string], in optionInput) error {
	errs := &route.Errors{}
	if feature != c.Feature.ID {
		errs.Add("feature", route.InvalidPKText(feature))
	}
	if msg := keyFault(c, *o, key.Value); msg != "" {
		errs.Add("key", msg)
	}
	in.apply(c, &o.Value, errs)
	in.Percentage.Into(&o.DefaultPercentageAllocation)
	key.IntoPtr(&o.Key)
	if errs.Empty() && !sharesFit(c, *o) {
		errs.Add("default_percentage_allocation", MsgAllocation)
	}
	return errs.Err()
}

// keyFault says what is wrong with a variant's key, or "".
func keyFault(c *Ctx, o fsm.MultivariateOption, key string) string {
	switch key {
	case "":
		return ""
	case "control":
		return `"control" is a reserved variant key.`
	}
	for other := range fsm.MultivariateOptionsByFeature.Refs(c, o.Feature) {
		if other.ID != o.ID && other.Key != nil && *other.Key == key {
			return "Multivariate option with this key already exists for the feature."
		}
	}
	return ""
}

// sharesFit reports whether the default shares of the feature's options stay within the whole with o among them.
func sharesFit(c *Ctx, o fsm.MultivariateOption) bool {
	total := o.DefaultPercentageAllocation
	for other := range fsm.MultivariateOptionsByFeature.Refs(c, o.Feature) {
		if other.ID != o.ID {
			total += other.DefaultPercentageAllocation
		}
	}
	return !fsm.MoreThanWhole(total)
}

// hasRoom reports whether every environment's default can take the new option's share.
func hasRoom(c *Ctx, o fsm.MultivariateOption) bool {
	for s := range fsm.FeatureStatesByFeature.Refs(c, o.Feature) {
		if s.Kind() == fsm.StateDefault && !fitsBeside(o, s.Multivariate) {
			return false
		}
	}
	return true
}

// fitsBeside tells whether others leave room for the option's default share.
func fitsBeside(o fsm.MultivariateOption, others []fsm.MultivariateValue) bool {
	total := o.DefaultPercentageAllocation
	for _, v := range others {
		total += v.Percentage
	}
	return !fsm.MoreThanWhole(total)
}

func newOption(feature uint64) fsm.MultivariateOption {
	return fsm.MultivariateOption{Feature: feature, Value: fsm.FeatureValue{Type: fsm.Unicode}, DefaultPercentageAllocation: 100}
}

// addOption stores a new option and gives it its default share in every environment's default.
func addOption(c *Ctx, o fsm.MultivariateOption) fsm.MultivariateOption {
	o.UUID = c.Tx.NewUUID()
	o = fsm.MultivariateOptions.Put(c.Tx, o)
	for _, s := range fsm.FeatureStatesByFeature.List(c, o.Feature) {
		if s.Kind() == fsm.StateDefault {
			s.Multivariate = append(slices.Clip(s.Multivariate), shareWithin(c.Tx, o, s.Multivariate))
			fsm.FeatureStates.Put(c.Tx, s)
		}
	}
	shareInVersions(c, o)
	c.Audit(0, fsm.AuditFeature, o.Feature, "Multivariate option added to feature '"+c.Feature.Name+"'.")
	return o
}

// shareInVersions gives a new option its default share in versions that are not served; none where their shares leave no room.
func shareInVersions(c *Ctx, o fsm.MultivariateOption) {
	for _, s := range fsm.FeatureVersionStatesByFeature.List(c, o.Feature) {
		if s.State.Kind() != fsm.StateDefault {
			continue
		}
		s.State.Multivariate = append(slices.Clip(s.State.Multivariate), shareWithin(c.Tx, o, s.State.Multivariate))
		fsm.FeatureVersionStates.Put(c.Tx, s)
	}
}

// shareWithin is the option's default share beside others, or none where they leave no room for it.
func shareWithin(tx *fsm.Tx, o fsm.MultivariateOption, others []fsm.MultivariateValue) fsm.MultivariateValue {
	share := defaultShare(tx, o)
	if !fitsBeside(o, others) {
		share.Percentage = 0
	}
	return share
}

// replaceOption stores a changed option. The reference books nothing, but clients get another value or key. Of a default share, or an option
// that is sent as it was, they see nothing.
func replaceOption(c *Ctx, o fsm.MultivariateOption) fsm.MultivariateOption {
	before := fsm.MultivariateOptions.Ref(c, o.ID)
	if !before.Value.SameValue(o.Value) || !sameText(before.Key, o.Key) {
		c.Tx.TouchProject(c.Project.ID)
	}
	return fsm.MultivariateOptions.Put(c.Tx, o)
}

// removeOption deletes an option and its share in every state.
func removeOption(c *Ctx, o fsm.MultivariateOption) {
	gone := func(v fsm.MultivariateValue) bool { return v.Option == o.ID }
	for _, s := range fsm.FeatureStatesByFeature.List(c, o.Feature) {
		if slices.ContainsFunc(s.Multivariate, gone) {
			s.Multivariate = slices.DeleteFunc(slices.Clone(s.Multivariate), gone)
			fsm.FeatureStates.Put(c.Tx, s)
		}
	}
	for _, s := range fsm.FeatureVersionStatesByFeature.List(c, o.Feature) {
		if slices.ContainsFunc(s.State.Multivariate, gone) {
			s.State.Multivariate = slices.DeleteFunc(slices.Clone(s.State.Multivariate), gone)
			fsm.FeatureVersionStates.Put(c.Tx, s)
		}
	}
	fsm.MultivariateOptions.Delete(c.Tx, o.ID)
	c.Audit(0, fsm.AuditFeature, o.Feature, "Multivariate option removed from feature '"+c.Feature.Name+"'.")
}

// settleType makes the feature MULTIVARIATE when it has its first option and STANDARD again when it lost its last.
func settleType(c *Ctx, f fsm.Feature) fsm.Feature {
	kind := fsm.Standard
	if _, ok := fsm.MultivariateOptionsByFeature.First(c, f.ID); ok {
		kind = fsm.Multivariate
	}
	if f.Type == kind {
		return f
	}
	f.Type = kind
	c.Audit(0, fsm.AuditFeature, f.ID, "Flag / Remote Config updated: "+f.Name)
	return fsm.Features.Put(c.Tx, f)
}

func renderNestedOption(o fsm.MultivariateOption) nestedOption {
	return nestedOption{ID: o.ID, UUID: o.UUID, Type: o.Value.Type, IntegerValue: o.Value.Integer, StringValue: o.Value.String,
		BooleanValue: o.Value.Boolean, Percentage: o.DefaultPercentageAllocation, Key: o.Key}
}

func renderOption(o fsm.MultivariateOption) option {
	return option{renderNestedOption(o), o.Feature}
}
