package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// contentType is a kind of object that custom fields speak of.
type contentType struct {
	ID       fsm.ContentType `json:"id"`
	AppLabel string          `json:"app_label"`
	Model    string          `json:"model"`
}

var contentTypes = []contentType{
	{fsm.ContentOrganisation, "organisations", "organisation"}, {fsm.ContentProject, "projects", "project"},
	{fsm.ContentEnvironment, "environments", "environment"}, {fsm.ContentFeature, "features", "feature"}, {fsm.ContentSegment, "segments", "segment"},
}

// hasFields reports whether objects of the kind have custom fields; the other kinds only demand them.
func hasFields(t fsm.ContentType) bool {
	return t == fsm.ContentEnvironment || t == fsm.ContentFeature || t == fsm.ContentSegment
}

// modelField gives a custom field to a kind of objects.
type modelField struct {
	ID          uint64             `json:"id"`
	Field       uint64             `json:"field"`
	ContentType fsm.ContentType    `json:"content_type"`
	RequiredFor []fieldRequirement `json:"is_required_for"`
}

type modelFieldRef struct {
	ID uint64 `path:"id"`
}

type modelFieldInput struct {
	Field       route.Optional[uint64]             `json:"field" v:"required,pk"`
	ContentType route.Optional[uint64]             `json:"content_type" v:"required,pk"`
	RequiredFor route.Optional[[]fieldRequirement] `json:"is_required_for"`
}

type modelFieldUpdate struct {
	modelFieldRef
	modelFieldInput
}

func metadataModelFieldRows() []route.Row {
	const list = "/api/v1/organisations/{organisation_pk}/metadata-model-fields/"
	const operation = "api_v1_organisations_metadata_model_fields_"
	view := OrganisationMember(Path("organisation_pk"))
	edit := All(view, Custom("organisation ADMIN, or admin of the field's project", editModelField))
	row := func(method, path, name string, p route.Permission, kind route.Kind, status int, h route.Handler) route.Row {
		return route.Row{Method: method, Path: list + path, OperationID: operation + name, Tag: "Organisations", Auth: route.Admin, Permission: p,
			Kind: kind, Status: status, Handler: h}
	}
	required := row("GET", "supported-required-for-models/", "supported_required_for_models_list", view, route.Read, 200, read(supportedRequirements))
	required.Refusals = []int{404} // with a message instead of a detail
	return []route.Row{
		required,
		row("GET", "", "list", view, route.Read, 200, read(listModelFields)),
		row("POST", "", "create", All(view, Custom("organisation ADMIN, or admin of the field's project", mayCreateModelField)), route.Write, 201,
			write(createModelField)),
		row("GET", "supported-content-types/", "supported_content_types_list", view, route.Read, 200, read(supportedContentTypes)),
		row("GET", "{id}/", "retrieve", view, route.Read, 200, read(getModelField)),
		row("PUT", "{id}/", "update", edit, route.Write, 200, write(updateModelField)),
		row("PATCH", "{id}/", "partial_update", edit, route.Write, 200, write(updateModelField)),
		row("DELETE", "{id}/", "destroy", edit, route.Write, 204, write(deleteModelField)),
	}
}

// mayCreateModelField looks at the field that the body names.
func mayCreateModelField(c *Ctx) error {
	id, _ := Body("field").id(c)
	f, ok := fsm.MetadataFields.Get(c, id)
	if !ok || f.Organisation != c.Organisation.ID || !c.managesField(f) {
		return route.PermissionDenied()
	}
	return nil
}

func editModelField(c *Ctx) error {
	id, _ := Path("id").id(c)
	m, err := findModelField(c, modelFieldRef{id})
	if err != nil {
		return err
	}
	if f, _ := fsm.MetadataFields.Get(c, m.Field); !c.managesField(f) {
		return route.PermissionDenied()
	}
	return nil
}

func listModelFields(c *Ctx, in struct {
	ContentType uint64 `query:"content_type"`
}) (route.Page[modelField], error) {
	rows := fsm.MetadataModelFieldsByOrganisation.List(c, c.Organisation.ID)
	if in.ContentType != 0 {
		rows = fsm.MetadataModelFieldsByOrganisation.List(c, c.Organisation.ID, in.ContentType)
	}
	slices.SortFunc(rows, func(a, b fsm.MetadataModelField) int { return int(a.ID) - int(b.ID) })
	return paginate(c, rows, renderModelField)
}

func supportedContentTypes(*Ctx, struct{}) ([]contentType, error) { return contentTypes, nil }

// supportedRequirements lists what may demand a field of objects of a model: the same for all of them.
func supportedRequirements(_ *Ctx, in struct {
	Model string `query:"model_name" v:"required"`
}) ([]contentType, error) {
	if !slices.ContainsFunc(contentTypes, func(t contentType) bool { return t.Model == in.Model && hasFields(t.ID) }) {
		return nil, route.Body(404, map[string]string{"message": "No supported models found for the given model name."})
	}
	return contentTypes[:2], nil
}

func createModelField(c *Ctx, in modelFieldInput) (modelField, error) {
	m := fsm.MetadataModelField{Organisation: c.Organisation.ID}
	if err := in.apply(c, &m); err != nil {
		return modelField{}, err
	}
	return renderModelField(fsm.MetadataModelFields.Put(c.Tx, m)), nil
}

func getModelField(c *Ctx, in modelFieldRef) (modelField, error) {
	m, err := findModelField(c, in)
	return renderModelField(m), err
}

func updateModelField(c *Ctx, in modelFieldUpdate) (modelField, error) {
	m, err := findModelField(c, in.modelFieldRef)
	if err != nil {
		return modelField{}, err
	}
	before := m
	if err := in.apply(c, &m); err != nil {
		return modelField{}, err
	}
	if m.Field != before.Field || m.ContentType != before.ContentType {
		fsm.MetadataByModelField.DeleteAll(c.Tx, m.ID) // values of another field, or on other objects
	}
	return renderModelField(fsm.MetadataModelFields.Put(c.Tx, m)), nil
}

func deleteModelField(c *Ctx, in modelFieldRef) (route.Empty, error) {
	fsm.MetadataByModelField.DeleteAll(c.Tx, in.ID)
	fsm.MetadataModelFields.Delete(c.Tx, in.ID)
	return c.OK()
}

// findModelField gets a model field of the organisation in the path.
func findModelField(c *Ctx, in modelFieldRef) (fsm.MetadataModelField, error) {
	m, ok := fsm.MetadataModelFields.Get(c, in.ID)
	if !ok || m.Organisation != c.Organisation.ID {
		return m, route.NotFound(fsm.MetadataModelFields.Name())
	}
	return m, nil
}

// apply checks what was sent and changes the row.
func (in modelFieldInput) apply(c *Ctx, m *fsm.MetadataModelField) error {
	in.Field.Into(&m.Field)
	if in.ContentType.Set {
		m.ContentType = fsm.ContentType(in.ContentType.Value)
	}
	errs := &route.Errors{}
	if f, ok := fsm.MetadataFields.Get(c, m.Field); !ok || f.Organisation != m.Organisation || !c.managesField(f) {
		errs.Add("field", route.InvalidPKText(m.Field))
	}
	if !hasFields(m.ContentType) {
		errs.Add("content_type", route.InvalidPKText(uint64(m.ContentType)))
	}
	if err := errs.Err(); err != nil {
		return err
	}
	for other := range fsm.MetadataModelFieldsByField.Refs(c, m.Field) {
		if other.ContentType == m.ContentType && other.ID != m.ID {
			return route.NonField("The fields field, content_type must make a unique set.")
		}
	}
	if !in.RequiredFor.Set {
		return nil
	}
	m.RequiredFor = nil
	for _, r := range in.RequiredFor.Value {
		requirement := fsm.MetadataRequirement{ContentType: fsm.ContentType(r.ContentType), Object: r.Object}
		if fault := requirementFault(c, requirement); fault != "" {
			return route.NonField(fault)
		}
		if !slices.Contains(m.RequiredFor, requirement) {
			m.RequiredFor = append(m.RequiredFor, requirement)
		}
	}
	return nil
}

// requirementFault says why an object cannot demand a field of c.Organisation, or "".
func requirementFault(c *Ctx, r fsm.MetadataRequirement) string {
	organisation := r.Object
	switch r.ContentType {
	case fsm.ContentOrganisation:
	case fsm.ContentProject:
		organisation = 0
		if p := fsm.Projects.Ref(c, r.Object); p != nil {
			organisation = p.Organisation
		}
	default:
		return "The requirement content type must be project or organisation"
	}
	if organisation != c.Organisation.ID {
		return "The requirement organisation does not match the field organisation"
	}
	return ""
}

func renderModelField(m fsm.MetadataModelField) modelField {
	return modelField{ID: m.ID, Field: m.Field, ContentType: m.ContentType, RequiredFor: renderRequirements(m)}
}
