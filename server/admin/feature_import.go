package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// featureImport notes that a file with features was read into an environment.
type featureImport struct {
	ID          uint64   `json:"id"`
	Environment uint64   `json:"environment_id"`
	Strategy    string   `json:"strategy"`
	Status      string   `json:"status"`
	CreatedAt   fsm.Time `json:"created_at"`
}

type featureImportInput struct {
	Environment uint64     `path:"environment_id"`
	File        route.File `json:"file" v:"required"`
	Strategy    string     `json:"strategy" v:"required,choice=SKIP|OVERWRITE_DESTRUCTIVE"`

	features []transferredFeature
}

// What happens to features that are there already.
const strategyOverwrite = "OVERWRITE_DESTRUCTIVE" // SKIP leaves them alone

// maxImportSize is the size of the largest file that is taken.
const maxImportSize = 1_000_000

// Validate reads the file.
func (in *featureImportInput) Validate(errs *route.Errors) {
	switch data := in.File.Data; {
	case len(data) == 0:
		errs.Add("file", "The submitted file is empty.")
	case len(data) > maxImportSize:
		errs.Add("file", "File size is too large.")
	default:
		features, err := readTransfer(data)
		if err != nil {
			errs.Add("file", "The file is no export of features: "+err.Error())
		}
		in.features = features
	}
}

func featureImportRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/features/feature-import/{environment_id}", OperationID: "api_v1_features_feature_import_create", Tag: "Features",
			Summary: "Make the features of an exported file, with their states in an environment: all of them or, when one is refused, none.",
			Auth:    route.Admin, Permission: Custom("organisation ADMIN", importAdmin), Kind: route.Write, Status: 201, Handler: write(importFeatures)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/feature-imports/", OperationID: "api_v1_projects_feature_imports_list", Tag: "Projects",
			Summary: "List the imports into environments that the caller administers; they are kept for 14 days.", Auth: route.Admin,
			Permission: ProjectPermission("VIEW_PROJECT", Path("project_pk")), Handler: read(listFeatureImports)},
	}
}

// importAdmin asks for the ADMIN of the environment's organisation.
func importAdmin(c *Ctx) error {
	if err := EnvironmentAdmin(PathID("environment_id")).Check(c.Call); err != nil {
		return err
	}
	if !c.IsOrganisationAdmin(c.Project.Organisation) {
		return route.PermissionDenied()
	}
	return nil
}

func importFeatures(c *Ctx, in featureImportInput) (featureImport, error) {
	for _, t := range in.features {
		f, exists := fsm.FeaturesByName.First(c, c.Project.ID, strings.ToLower(t.Name))
		var err error
		switch {
		case !exists:
			err = createImported(c, t)
		case in.Strategy == strategyOverwrite:
			err = overwriteImported(c, f, t)
		}
		if err != nil {
			return featureImport{}, err
		}
	}
	i := fsm.FeatureImports.Put(c.Tx, fsm.FeatureImport{Environment: c.Environment.ID, Strategy: in.Strategy, CreatedAt: c.Now()})
	out := renderFeatureImport(i)
	out.Status = transferProcessing
	return out, nil
}

// createImported makes a feature as createFeature does, and gives it its state in the environment.
func createImported(c *Ctx, t transferredFeature) error {
	if faults := nameFaults(c, t.Name); len(faults) > 0 {
		return route.Field("file", t.Name+": "+faults[0])
	}
	if t.InitialValue != nil {
		if msg := c.valueFault(*t.InitialValue); msg != "" {
			return route.Field("file", t.Name+": initial_value: "+msg)
		}
	}
	if err := (featureCreate{}).room(c); err != nil {
		return err
	}
	f := fsm.Features.Put(c.Tx, fsm.Feature{UUID: c.Tx.NewUUID(), Name: t.Name, Project: c.Project.ID, Type: fsm.Standard, CreatedDate: c.Now(),
		DefaultEnabled: t.DefaultEnabled, IsServerKeyOnly: t.IsServerKeyOnly, InitialValue: t.InitialValue})
	c.Audit(0, fsm.AuditFeature, f.ID, "New Flag / Remote Config created: "+f.Name)
	createDefaults(c, f)
	return c.importState(f, t)
}

// overwriteImported gives a feature the state of the file in the environment and takes the overrides there away. The feature stays the same
// one, and its states elsewhere stay.
func overwriteImported(c *Ctx, f fsm.Feature, t transferredFeature) error {
	for _, s := range fsm.FeatureStatesByEnvironment.List(c, c.Environment.ID, fsm.StateIdentity, f.ID) {
		deleteState(c, s)
	}
	if c.Environment.UseV2FeatureVersioning {
		return c.importVersion(f, t)
	}
	for _, fs := range fsm.FeatureSegmentsByEnvironment.List(c, c.Environment.ID, f.ID) {
		unlinkSegment(c, fs)
	}
	return c.importState(f, t)
}

// importState sets the default state of a feature in the environment as the file has it.
func (c *Ctx) importState(f fsm.Feature, t transferredFeature) error {
	shares := c.importOptions(f, t)
	before, ok := fsm.FeatureStatesByEnvironment.First(c, c.Environment.ID, fsm.StateDefault, f.ID)
	if !ok {
		before = createDefaultState(c.Tx, c.Project, c.Feature, c.Environment.ID)
		c.Audit(c.Environment.ID, fsm.AuditFeatureState, before.ID, "New Flag / Remote Config created: "+f.Name)
	}
	after := before
	after.LiveFrom = min(after.LiveFrom, c.Now()) // what was to come is replaced
	if err := t.apply(c, &after, shares); err != nil {
		return err
	}
	updateState(c, before, after)
	return nil
}

// importVersion publishes a version that has the default of the file and no overrides. Versions that were to come go.
func (c *Ctx) importVersion(f fsm.Feature, t transferredFeature) error {
	shares := c.importOptions(f, t)
	for _, v := range fsm.FeatureVersionsByEnvironment.List(c, c.Environment.ID, f.ID) {
		if v.Phase == fsm.VersionScheduled {
			dropVersion(c, v)
		}
	}
	d := newDraft(c, fsm.FeatureVersion{})
	for _, s := range d.list() {
		if s.Link.Segment != 0 {
			d.remove(s)
		}
	}
	s := d.find(0)
	if s == nil {
		s = d.addDefault()
	}
	if err := t.apply(c, &s.State, shares); err != nil {
		return err
	}
	s.State.LiveFrom = 0 // live when the version is
	d.put(*s)
	d.publish()
	return nil
}

// importOptions makes c.Feature a feature and the options that it lacks, and gives the shares of options. Those that the file lacks have none.
func (c *Ctx) importOptions(f fsm.Feature, t transferredFeature) map[uint64]percentage {
	c.Feature = f
	shares := map[uint64]percentage{}
	for _, sent := range t.Multivariate {
		shares[c.importOption(f, sent, shares)] = sent.Percentage
	}
	c.Feature = settleType(c, f)
	return shares
}

// apply sets switch and value as the file has them, and the shares.
func (t transferredFeature) apply(c *Ctx, s *fsm.FeatureState, shares map[uint64]percentage) error {
	v, err := transferValue(t.Type, t.Value)
	if err != nil { // was checked
		return err
	}
	if v.String != nil {
		if msg := c.valueFault(*v.String); msg != "" {
			return route.Field("file", t.Name+": "+msg)
		}
	}
	s.Enabled, s.Value, s.Multivariate = t.Enabled, v, slices.Clone(s.Multivariate)
	for i := range s.Multivariate {
		s.Multivariate[i].Percentage = float64(shares[s.Multivariate[i].Option])
	}
	return nil
}

// importOption finds or makes the option of a feature with that value; taken are those of the options before it in the file. A new one has no
// default share where the others leave no room for it.
func (c *Ctx) importOption(f fsm.Feature, sent transferredOption, taken map[uint64]percentage) uint64 {
	v, _ := transferValue(sent.Type, sent.Value) // was checked
	for o := range fsm.MultivariateOptionsByFeature.Refs(c, f.ID) {
		if _, is := taken[o.ID]; !is && o.Value.SameValue(v) {
			return o.ID
		}
	}
	o := fsm.MultivariateOption{Feature: f.ID, Value: v, DefaultPercentageAllocation: float64(sent.DefaultPercentage)}
	if !sharesFit(c, o) {
		o.DefaultPercentageAllocation = 0
	}
	return addOption(c, o).ID
}

func listFeatureImports(c *Ctx, _ struct{}) (route.Page[featureImport], error) {
	rows := []fsm.FeatureImport{}
	for e := range c.administered() {
		rows = append(rows, fsm.FeatureImportsByEnvironment.List(c, e)...)
	}
	slices.SortFunc(rows, func(a, b fsm.FeatureImport) int { return cmp.Compare(b.ID, a.ID) })
	return paginate(c, rows, renderFeatureImport)
}

func renderFeatureImport(i fsm.FeatureImport) featureImport {
	return featureImport{ID: i.ID, Environment: i.Environment, Strategy: i.Strategy, Status: transferSuccess, CreatedAt: i.CreatedAt}
}

// readTransfer reads a file and checks everything that needs no state.
func readTransfer(data []byte) ([]transferredFeature, error) {
	if !utf8.Valid(data) { // the decoder would put other characters in the place of those that it cannot read
		return nil, fmt.Errorf("it is not UTF-8")
	}
	if identity.LoneSurrogate(data) { // as above
		return nil, fmt.Errorf("a text has half a surrogate pair in it")
	}
	var features []transferredFeature
	err := json.Unmarshal(data, &features)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s stands at byte %d where something else is expected", wrong.Value, wrong.Offset)
	}
	if err != nil {
		return nil, err
	}
	if features == nil {
		return nil, fmt.Errorf("it is null")
	}
	names := map[string]bool{}
	for i, f := range features {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("feature %d: %w", i+1, err)
		}
		if names[strings.ToLower(f.Name)] {
			return nil, fmt.Errorf("feature %d: the name %q is there twice", i+1, f.Name)
		}
		names[strings.ToLower(f.Name)] = true
	}
	return features, nil
}

func (t transferredFeature) check() error {
	initial := ""
	if t.InitialValue != nil {
		initial = *t.InitialValue
	}
	switch {
	case strings.TrimSpace(t.Name) == "" || utf8.RuneCountInString(t.Name) > 2000 || route.TextFault(t.Name) != "":
		return fmt.Errorf("its name is no name")
	case route.TextFault(initial) != "":
		return fmt.Errorf("initial_value: %s", route.TextFault(initial))
	}
	if _, err := transferValue(t.Type, t.Value); err != nil {
		return err
	}
	total, defaults := percentage(0), percentage(0)
	for _, o := range t.Multivariate {
		if _, err := transferValue(o.Type, o.Value); err != nil {
			return err
		}
		if o.Percentage < 0 || o.DefaultPercentage < 0 {
			return fmt.Errorf("a share is negative")
		}
		total, defaults = total+o.Percentage, defaults+o.DefaultPercentage
	}
	if fsm.MoreThanWhole(float64(total)) || fsm.MoreThanWhole(float64(defaults)) {
		return fmt.Errorf("its shares exceed the whole")
	}
	return nil
}

// transferValue reads a value of a type from its JSON; a missing value is null.
func transferValue(kind fsm.ValueType, raw json.RawMessage) (v fsm.FeatureValue, err error) {
	v.Type = kind
	null := len(raw) == 0 || string(raw) == "null"
	switch {
	case kind != fsm.Int && kind != fsm.Bool && kind != fsm.Unicode:
		return v, fmt.Errorf("%q is no type of value", kind)
	case null:
	case kind == fsm.Int:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
			return v, fmt.Errorf("%s is no integer of 32 bits", raw)
		}
		v.Integer = &n
	case kind == fsm.Bool:
		err = json.Unmarshal(raw, &v.Boolean)
	default:
		if err = json.Unmarshal(raw, &v.String); err == nil && route.TextFault(*v.String) != "" {
			err = fmt.Errorf("value: %s", route.TextFault(*v.String))
		}
	}
	return v, err
}
