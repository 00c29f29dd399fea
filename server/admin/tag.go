package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// tag is a project's label for features, as the API shows it.
type tag struct {
	ID          uint64    `json:"id"`
	Label       string    `json:"label"`
	Color       string    `json:"color"`
	Description *string   `json:"description"`
	Project     uint64    `json:"project"`
	UUID        uuid.UUID `json:"uuid"`
	IsPermanent bool      `json:"is_permanent"`
	IsSystemTag bool      `json:"is_system_tag"`
	Type        string    `json:"type"`
}

type tagRef struct {
	ID uint64 `path:"id"`
}

type tagInput struct {
	Label       route.Optional[string] `json:"label" v:"required,max=100"`
	Color       route.Optional[string] `json:"color" v:"max=10"`
	Description route.Optional[string] `json:"description" v:"null,blank,max=512"`
	IsPermanent route.Optional[bool]   `json:"is_permanent"`
}

type tagUpdate struct {
	tagRef
	tagInput
}

func tagRows() []route.Row {
	const list, detail, uuid = "/api/v1/projects/{project_pk}/tags/", "/api/v1/projects/{project_pk}/tags/{id}/", "/api/v1/projects/{project_pk}/tags/get-by-uuid/{uuid}/"
	view, manage := ProjectPermission("VIEW_PROJECT", Path("project_pk")), ProjectPermission("MANAGE_TAGS", Path("project_pk"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_projects_tags_list", Tag: "Tags", Auth: route.Admin, Permission: view, Handler: read(listTags)},
		{Method: "POST", Path: list, OperationID: "api_v1_projects_tags_create", Tag: "Tags", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 201, Handler: write(createTag)},
		{Method: "GET", Path: uuid, OperationID: "api_v1_projects_tags_get_by_uuid_retrieve", Tag: "Tags", Auth: route.Admin, Permission: view, Handler: read(tagByUUID)},
		{Method: "GET", Path: detail, OperationID: "api_v1_projects_tags_retrieve", Tag: "Tags", Auth: route.Admin, Permission: manage, Handler: read(getTag)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_projects_tags_update", Tag: "Tags", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Handler: write(updateTag)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_projects_tags_partial_update", Tag: "Tags", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Handler: write(updateTag)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_projects_tags_destroy", Tag: "Tags", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 204, Handler: write(deleteTag)},
	}
}

func listTags(c *Ctx, _ struct{}) (route.Page[tag], error) {
	return paginate(c, fsm.TagsByProject.List(c, c.Project.ID), renderTag)
}

func createTag(c *Ctx, in tagInput) (tag, error) {
	t := fsm.Tag{UUID: c.Tx.NewUUID(), Project: c.Project.ID, Color: "#6837FC", Type: "NONE"}
	in.apply(&t)
	return renderTag(fsm.Tags.Put(c.Tx, t)), nil
}

func getTag(c *Ctx, in tagRef) (tag, error) {
	t, err := findTag(c, in)
	return renderTag(t), err
}

func tagByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (tag, error) {
	t, ok := fsm.TagsByUUID.First(c, in.UUID)
	if !ok || t.Project != c.Project.ID {
		return tag{}, route.NotFound("Tag")
	}
	return renderTag(t), nil
}

func updateTag(c *Ctx, in tagUpdate) (tag, error) {
	t, err := findTag(c, in.tagRef)
	if err != nil {
		return tag{}, err
	}
	if t.IsSystemTag {
		return tag{}, route.BareArray("Cannot update a system tag.")
	}
	in.apply(&t)
	return renderTag(fsm.Tags.Put(c.Tx, t)), nil
}

func deleteTag(c *Ctx, in tagRef) (route.Empty, error) {
	t, err := findTag(c, in)
	if err != nil {
		return c.fail(err)
	}
	if t.IsSystemTag {
		return c.fail(route.FieldText("message", "Cannot delete a system tag."))
	}
	for _, f := range fsm.FeaturesByProject.List(c, c.Project.ID) {
		if i := slices.Index(f.Tags, t.ID); i >= 0 {
			f.Tags = slices.Delete(slices.Clone(f.Tags), i, i+1)
			fsm.Features.Put(c.Tx, f)
		}
	}
	fsm.Tags.Delete(c.Tx, t.ID)
	return c.OK()
}

// findTag gets a tag of the project in the path.
func findTag(c *Ctx, in tagRef) (fsm.Tag, error) {
	t, ok := fsm.Tags.Get(c, in.ID)
	if !ok || t.Project != c.Project.ID {
		return t, route.NotFound("Tag")
	}
	return t, nil
}

func (in tagInput) apply(t *fsm.Tag) {
	in.Label.Into(&t.Label)
	in.Color.Into(&t.Color)
	in.Description.IntoPtr(&t.Description)
	in.IsPermanent.Into(&t.IsPermanent)
}

func renderTag(t fsm.Tag) tag {
	return tag{ID: t.ID, Label: t.Label, Color: t.Color, Description: t.Description, Project: t.Project, UUID: t.UUID,
		IsPermanent: t.IsPermanent, IsSystemTag: t.IsSystemTag, Type: t.Type}
}
