package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// featureExport is a file with features, as the API shows it.
type featureExport struct {
	ID          uint64   `json:"id"`
	Name        string   `json:"name"`
	Environment uint64   `json:"environment_id"`
	Status      string   `json:"status"`
	CreatedAt   fsm.Time `json:"created_at"`
}

// How far an export or import is. The answer that starts one says PROCESSING, as the reference does; it is done when it is answered.
const (
	transferProcessing = "PROCESSING"
	transferSuccess    = "SUCCESS"
)

// maxTransfers is how many exports of an environment are kept; the oldest go.
const maxTransfers = 20

// transferredFeature is one feature in the file: its defaults, and its state in the environment.
type transferredFeature struct {
	Name            string              `json:"name"`
	DefaultEnabled  bool                `json:"default_enabled"`
	IsServerKeyOnly bool                `json:"is_server_key_only"`
	InitialValue    *string             `json:"initial_value"`
	Value           json.RawMessage     `json:"value"`
	Type            fsm.ValueType       `json:"type"`
	Enabled         bool                `json:"enabled"`
	Multivariate    []transferredOption `json:"multivariate"`
}

type transferredOption struct {
	Percentage        percentage      `json:"percentage_allocation"`
	DefaultPercentage percentage      `json:"default_percentage_allocation"`
	Value             json.RawMessage `json:"value"`
	Type              fsm.ValueType   `json:"type"`
}

// percentage is a number that is written with a point, as it is in every answer.
type percentage float64

// MarshalJSON writes 30.0.
func (p percentage) MarshalJSON() ([]byte, error) { return route.AppendFloat(nil, float64(p)), nil }

func featureExportRows() []route.Row {
	return []route.Row{
		{Method: "POST", Path: "/api/v1/features/create-feature-export/", OperationID: "api_v1_features_create_feature_export_create", Tag: "Features",
			Summary: "Put the features of an environment, or those with one of the tags, into a file.", Auth: route.Admin,
			Permission: EnvironmentAdmin(Body("environment_id")), Kind: route.Write, Status: 201, Handler: write(createFeatureExport)},
		{Method: "GET", Path: "/api/v1/features/download-feature-export/{feature_export_id}/", Tag: "Features", Auth: route.Admin,
			OperationID: "api_v1_features_download_feature_export_retrieve", Permission: Custom("environment admin", exportAdmin),
			Media: "application/json", NoHead: true, Handler: read(downloadFeatureExport)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/feature-exports/", OperationID: "api_v1_projects_feature_exports_list", Tag: "Projects",
			Summary: "List the exports of the environments that the caller administers; they are kept for 14 days.", Auth: route.Admin,
			Permission: ProjectPermission("VIEW_PROJECT", Path("project_pk")), Handler: read(listFeatureExports)},
	}
}

// exportAdmin finds the export in the path and asks for admin rights on its environment.
func exportAdmin(c *Ctx) error {
	id, _ := Path("feature_export_id").id(c)
	x, ok := fsm.FeatureExports.Get(c, id)
	if ok {
		c.Environment, ok = fsm.Environments.Get(c, x.Environment)
	}
	switch {
	case !ok:
		return route.NotFound(fsm.FeatureExports.Name())
	case !c.IsEnvironmentAdmin(c.Environment):
		return route.PermissionDenied()
	}
	return nil
}

func createFeatureExport(c *Ctx, in struct {
	Environment uint64   `json:"environment_id" v:"required"`
	Tags        []uint64 `json:"tag_ids" v:"required"`
}) (featureExport, error) {
	features := []transferredFeature{}
	scope := featureScope{c: c, environment: c.Environment.ID}
	for f := range fsm.FeaturesByProject.Refs(c, c.Project.ID) {
		s := scope.defaultState(f.ID)
		if s == nil || f.IsArchived || len(in.Tags) > 0 && !shareAny(f.Tags, in.Tags) {
			continue
		}
		features = append(features, exportFeature(c, f, s))
	}
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // else values that are HTML take up to six times as much, and the file is too large to be imported
	if err := enc.Encode(features); err != nil {
		return featureExport{}, err
	}
	if kept := fsm.FeatureExportsByEnvironment.List(c, c.Environment.ID); len(kept) >= maxTransfers {
		fsm.FeatureExports.Delete(c.Tx, kept[0].ID)
	}
	x := fsm.FeatureExports.Put(c.Tx, fsm.FeatureExport{Environment: c.Environment.ID, CreatedAt: c.Now(), Data: bytes.TrimSuffix(data.Bytes(), []byte("\n"))})
	out := c.renderFeatureExport(x)
	out.Status = transferProcessing
	return out, nil
}

func exportFeature(c *Ctx, f *fsm.Feature, s *fsm.FeatureState) transferredFeature {
	out := transferredFeature{Name: f.Name, DefaultEnabled: f.DefaultEnabled, IsServerKeyOnly: f.IsServerKeyOnly, InitialValue: f.InitialValue,
		Value: literal(s.Value), Type: s.Value.Type, Enabled: s.Enabled, Multivariate: []transferredOption{}}
	for _, v := range s.Multivariate {
		if o := fsm.MultivariateOptions.Ref(c, v.Option); o != nil {
			out.Multivariate = append(out.Multivariate, transferredOption{Percentage: percentage(v.Percentage),
				DefaultPercentage: percentage(o.DefaultPercentageAllocation), Value: literal(o.Value), Type: o.Value.Type})
		}
	}
	return out
}

// literal is the JSON of a feature value.
func literal(v fsm.FeatureValue) json.RawMessage { return renderRaw(v).AppendJSON(nil) }

func downloadFeatureExport(c *Ctx, in struct {
	ID uint64 `path:"feature_export_id"`
}) (route.Blob, error) {
	x, err := find(c, fsm.FeatureExports, in.ID)
	if err != nil {
		return route.Blob{}, err
	}
	c.SetHeader("Content-Disposition", fmt.Sprintf("attachment; filename=feature_export.%d.json", x.ID))
	return route.Blob{ContentType: "application/json", Data: x.Data}, nil
}

func listFeatureExports(c *Ctx, _ struct{}) (route.Page[featureExport], error) {
	rows := []fsm.FeatureExport{}
	for e := range c.administered() {
		rows = append(rows, fsm.FeatureExportsByEnvironment.List(c, e)...)
	}
	slices.SortFunc(rows, func(a, b fsm.FeatureExport) int { return cmp.Compare(b.ID, a.ID) })
	return paginate(c, rows, c.renderFeatureExport)
}

// administered yields the ids of the project's environments that the caller administers.
func (c *Ctx) administered() func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for e := range fsm.EnvironmentsByProject.All(c, c.Project.ID) {
			if c.IsEnvironmentAdmin(e) && !yield(e.ID) {
				return
			}
		}
	}
}

func (c *Ctx) renderFeatureExport(x fsm.FeatureExport) featureExport {
	e, _ := fsm.Environments.Get(c, x.Environment)
	return featureExport{ID: x.ID, Name: e.Name + " | " + x.CreatedAt.Std().Format("2006-01-02 15:04") + " UTC", Environment: x.Environment,
		Status: transferSuccess, CreatedAt: x.CreatedAt}
}
