package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// metadataField is a custom field, as the API shows it.
type metadataField struct {
	ID           uint64            `json:"id"`
	Name         string            `json:"name"`
	Type         string            `json:"type"`
	Description  *string           `json:"description"`
	Organisation uint64            `json:"organisation"`
	Project      *uint64           `json:"project"`
	ModelFields  []fieldModelField `json:"model_fields"`
}

// fieldModelField is a model field inside its field.
type fieldModelField struct {
	ID          uint64             `json:"id"`
	ContentType fsm.ContentType    `json:"content_type"`
	RequiredFor []fieldRequirement `json:"is_required_for"`
}

// fieldRequirement is an organisation or project that demands a field.
type fieldRequirement struct {
	ContentType uint64 `json:"content_type" v:"required,pk"`
	Object      uint64 `json:"object_id" v:"required,min=0,max=2147483647"`
}

type metadataFieldRef struct {
	ID uint64 `path:"id"`
}

type metadataFieldInput struct {
	Name         route.Optional[string] `json:"name" v:"required,max=255"`
	Type         route.Optional[string] `json:"type" v:"choice=int|str|bool|url|multiline_str"`
	Description  route.Optional[string] `json:"description" v:"null,blank"`
	Organisation route.Optional[uint64] `json:"organisation" v:"required,pk"`
	Project      route.Optional[uint64] `json:"project" v:"null,pk"`
}

type metadataFieldUpdate struct {
	metadataFieldRef
	metadataFieldInput
}

func metadataFieldRows() []route.Row {
	const list, detail, inProject = "/api/v1/metadata/fields/", "/api/v1/metadata/fields/{id}/", "/api/v1/projects/{project_pk}/metadata/fields/"
	create := Custom("organisation ADMIN, or admin of the field's project", mayCreateField)
	view, edit := Custom("organisation member", viewField), Custom("organisation ADMIN, or admin of the field's project", editField)
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_metadata_fields_list", Tag: "Metadata", Auth: route.Admin,
			Summary: "List the custom fields that an organisation has for all its projects.", Handler: read(listMetadataFields)},
		{Method: "POST", Path: list, OperationID: "api_v1_metadata_fields_create", Tag: "Metadata", Auth: route.Admin, Permission: create,
			Kind: route.Write, Status: 201, Handler: write(createMetadataField)},
		{Method: "GET", Path: detail, OperationID: "api_v1_metadata_fields_retrieve", Tag: "Metadata", Auth: route.Admin, Permission: view,
			Handler: read(getMetadataField)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_metadata_fields_update", Tag: "Metadata", Auth: route.Admin, Permission: edit,
			Kind: route.Write, Handler: write(updateMetadataField)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_metadata_fields_partial_update", Tag: "Metadata", Auth: route.Admin, Permission: edit,
			Kind: route.Write, Handler: write(updateMetadataField)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_metadata_fields_destroy", Tag: "Metadata", Auth: route.Admin, Permission: edit,
			Kind: route.Write, Status: 204, Handler: write(deleteMetadataField)},
		{Method: "GET", Path: inProject, OperationID: "api_v1_projects_metadata_fields_list", Tag: "Metadata", Auth: route.Admin,
			Permission: ProjectPermission("VIEW_PROJECT", Path("project_pk")), Handler: read(listProjectMetadataFields)},
		{Method: "GET", Path: inProject + "{id}/", OperationID: "api_v1_projects_metadata_fields_retrieve", Tag: "Metadata", Auth: route.Admin,
			Permission: ProjectAdmin(Path("project_pk")), Handler: read(getProjectMetadataField)},
	}
}

// mayCreateField looks at the project that the body names, or at its organisation.
func mayCreateField(c *Ctx) error {
	if _, ok := Body("project").id(c); ok {
		return ProjectAdmin(Body("project")).Check(c.Call)
	}
	return OrganisationAdmin(Body("organisation")).Check(c.Call)
}

// managesField reports whether the caller may change a field.
func (c *Ctx) managesField(f fsm.MetadataField) bool {
	if p, ok := fsm.Projects.Get(c, f.Project); ok {
		return c.IsProjectAdmin(p)
	}
	return c.IsOrganisationAdmin(f.Organisation)
}

// viewField finds the field in the path for members of its organisation; to others it does not exist.
func viewField(c *Ctx) error {
	id, _ := Path("id").id(c)
	if f, ok := fsm.MetadataFields.Get(c, id); !ok || !c.IsMember(f.Organisation) {
		return route.NotFound(fsm.MetadataFields.Name())
	}
	return nil
}

func editField(c *Ctx) error {
	if err := viewField(c); err != nil {
		return err
	}
	id, _ := Path("id").id(c)
	if f, _ := fsm.MetadataFields.Get(c, id); !c.managesField(f) {
		return route.PermissionDenied()
	}
	return nil
}

func listMetadataFields(c *Ctx, in struct {
	Organisation uint64 `query:"organisation" v:"required"`
}) (route.SizedPage[metadataField], error) {
	rows := []fsm.MetadataField{}
	if c.IsMember(in.Organisation) {
		rows = slices.DeleteFunc(fsm.MetadataFieldsByOrganisation.List(c, in.Organisation), func(f fsm.MetadataField) bool { return f.Project != 0 })
	}
	return paginateSized(c, rows, c.renderMetadataField)
}

func listProjectMetadataFields(c *Ctx, in struct {
	IncludeOrganisation bool   `query:"include_organisation"`
	Entity              string `query:"entity" v:"choice=feature|segment|environment"`
}) (route.SizedPage[metadataField], error) {
	rows := slices.DeleteFunc(fsm.MetadataFieldsByOrganisation.List(c, c.Project.Organisation), func(f fsm.MetadataField) bool {
		inScope := f.Project == c.Project.ID || f.Project == 0 && in.IncludeOrganisation
		return !inScope || in.Entity != "" && !c.givenTo(f, in.Entity)
	})
	return paginateSized(c, rows, c.renderMetadataField)
}

// givenTo reports whether objects of a model have the field.
func (c *Ctx) givenTo(f fsm.MetadataField, model string) bool {
	for m := range fsm.MetadataModelFieldsByField.Refs(c, f.ID) {
		if i := slices.IndexFunc(contentTypes, func(t contentType) bool { return t.ID == m.ContentType }); i >= 0 && contentTypes[i].Model == model {
			return true
		}
	}
	return false
}

func createMetadataField(c *Ctx, in metadataFieldInput) (metadataField, error) {
	f := fsm.MetadataField{Type: "str", Organisation: in.Organisation.Value, Project: in.Project.Value}
	if err := in.apply(c, &f); err != nil {
		return metadataField{}, err
	}
	return c.renderMetadataField(fsm.MetadataFields.Put(c.Tx, f)), nil
}

func getMetadataField(c *Ctx, in metadataFieldRef) (metadataField, error) {
	f, err := find(c, fsm.MetadataFields, in.ID)
	return c.renderMetadataField(f), err
}

func getProjectMetadataField(c *Ctx, in metadataFieldRef) (metadataField, error) {
	f, ok := fsm.MetadataFields.Get(c, in.ID)
	if !ok || f.Organisation != c.Project.Organisation || f.Project != 0 && f.Project != c.Project.ID {
		return metadataField{}, route.NotFound(fsm.MetadataFields.Name())
	}
	return c.renderMetadataField(f), nil
}

func updateMetadataField(c *Ctx, in metadataFieldUpdate) (metadataField, error) {
	f, err := find(c, fsm.MetadataFields, in.ID)
	if err != nil {
		return metadataField{}, err
	}
	if err := in.apply(c, &f); err != nil {
		return metadataField{}, err
	}
	return c.renderMetadataField(fsm.MetadataFields.Put(c.Tx, f)), nil
}

func deleteMetadataField(c *Ctx, in metadataFieldRef) (route.Empty, error) {
	deleteMetadataFieldTree(c, in.ID)
	return c.OK()
}

// apply changes the row. A field stays where it was made: values of elsewhere hang on it.
func (in metadataFieldInput) apply(c *Ctx, f *fsm.MetadataField) error {
	errs := &route.Errors{}
	if in.Organisation.Set && in.Organisation.Value != f.Organisation {
		errs.Add("organisation", "The organisation of a field cannot be changed.")
	}
	if in.Project.Set && in.Project.Value != f.Project {
		errs.Add("project", "The project of a field cannot be changed.")
	}
	if p := fsm.Projects.Ref(c, f.Project); p != nil && p.Organisation != f.Organisation {
		errs.Add("project", "The project does not belong to the organisation.")
	}
	if err := errs.Err(); err != nil {
		return err
	}
	in.Name.Into(&f.Name)
	in.Type.Into(&f.Type)
	in.Description.IntoPtr(&f.Description)
	for other := range fsm.MetadataFieldsByOrganisation.Refs(c, f.Organisation) {
		if other.Name == f.Name && other.Project == f.Project && other.ID != f.ID {
			return route.NonField("A metadata field with this name already exists.")
		}
	}
	return nil
}

func (c *Ctx) renderMetadataField(f fsm.MetadataField) metadataField {
	return metadataField{ID: f.ID, Name: f.Name, Type: f.Type, Description: f.Description, Organisation: f.Organisation, Project: idOrNull(f.Project),
		ModelFields: mapped(fsm.MetadataModelFieldsByField.List(c, f.ID), func(m fsm.MetadataModelField) fieldModelField {
			return fieldModelField{ID: m.ID, ContentType: m.ContentType, RequiredFor: renderRequirements(m)}
		})}
}

func renderRequirements(m fsm.MetadataModelField) []fieldRequirement {
	return mapped(m.RequiredFor, func(r fsm.MetadataRequirement) fieldRequirement {
		return fieldRequirement{ContentType: uint64(r.ContentType), Object: r.Object}
	})
}
