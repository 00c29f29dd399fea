package admin

import (
	"slices"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const (
	tagsPath = "/api/v1/projects/{project_pk}/tags/"
	tagPath  = tagsPath + "{id}/"
)

func tagRows() []route.Row {
	inProject := path("project_pk")
	return []route.Row{
		{
			Method: "GET", Path: tagsPath, OperationID: "api_v1_projects_tags_list", Tag: "Tags",
			Kind: route.Read, Auth: route.Admin, Permission: onProject(inProject, viewProject).forbidden(), Handler: handle(listTags),
		},
		{
			Method: "POST", Path: tagsPath, OperationID: "api_v1_projects_tags_create", Tag: "Tags", Status: 201,
			Kind: route.Write, Auth: route.Admin, Permission: onProject(inProject, manageTags).forbidden(), Handler: handle(createTag),
		},
		{
			Method: "GET", Path: tagPath, OperationID: "api_v1_projects_tags_retrieve", Tag: "Tags",
			Kind: route.Read, Auth: route.Admin, Permission: onProject(inProject, manageTags).forbidden(), Handler: handle(getTag),
		},
		{
			Method: "PUT", Path: tagPath, OperationID: "api_v1_projects_tags_update", Tag: "Tags",
			Kind: route.Write, Auth: route.Admin, Permission: onProject(inProject, manageTags).forbidden(), Handler: handle(updateTag),
		},
		{
			Method: "PATCH", Path: tagPath, OperationID: "api_v1_projects_tags_partial_update", Tag: "Tags",
			Kind: route.Write, Auth: route.Admin, Permission: onProject(inProject, manageTags).forbidden(), Handler: handle(updateTag),
		},
		{
			Method: "DELETE", Path: tagPath, OperationID: "api_v1_projects_tags_destroy", Tag: "Tags", Status: 204,
			Kind: route.Write, Auth: route.Admin, Permission: onProject(inProject, manageTags).forbidden(), Handler: handle(deleteTag),
		},
		{
			Method: "GET", Path: tagsPath + "get-by-uuid/{uuid}/", OperationID: "api_v1_projects_tags_get_by_uuid_retrieve", Tag: "Tags",
			Kind: route.Read, Auth: route.Admin, Permission: onProject(inProject, viewProject).forbidden(), Handler: handle(getTagByUUID),
		},
	}
}

// Tag is a tag as the API shows it.
type Tag struct {
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

func showTag(t fsm.Tag) Tag {
	return Tag{
		ID: t.ID, Label: t.Label, Color: t.Color, Description: t.Description, Project: t.Project, UUID: t.UUID,
		IsPermanent: t.IsPermanent, IsSystemTag: t.IsSystemTag, Type: t.Type,
	}
}

type tagInput struct {
	ID          uint64                 `path:"id"`
	Label       route.Optional[string] `json:"label" v:"required,max=100"`
	Color       route.Optional[string] `json:"color" v:"max=10"`
	Description route.Optional[string] `json:"description" v:"null,blank,max=512"`
	IsPermanent route.Optional[bool]   `json:"is_permanent"`
}

func (in *tagInput) into(t *fsm.Tag) {
	in.Label.Into(&t.Label)
	in.Color.Into(&t.Color)
	in.Description.IntoPtr(&t.Description)
	in.IsPermanent.Into(&t.IsPermanent)
}

func listTags(c *Ctx, _ struct{}) (route.Page[Tag], error) {
	tags := []Tag{}
	for t := range fsm.TagsByProject.All(c.Reader, c.Project.ID) {
		tags = append(tags, showTag(t))
	}
	return route.Paginate(c.Call, tags, false)
}

func createTag(c *Ctx, in tagInput) (Tag, error) {
	t := fsm.Tag{UUID: c.Tx.NewUUID(), Project: c.Project.ID, Color: "#6837FC", Type: "NONE"}
	in.into(&t)
	return showTag(fsm.Tags.Put(c.Tx, t)), nil
}

type tagID struct {
	ID uint64 `path:"id"`
}

func getTag(c *Ctx, in tagID) (Tag, error) {
	t, err := tagOf(c, in.ID)
	return showTag(t), err
}

func getTagByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (Tag, error) {
	t, ok := fsm.TagsByUUID.First(c.Reader, in.UUID)
	if !ok || t.Project != c.Project.ID {
		return Tag{}, route.NotFound("Tag")
	}
	return showTag(t), nil
}

func updateTag(c *Ctx, in tagInput) (Tag, error) {
	t, err := tagOf(c, in.ID)
	if err != nil {
		return Tag{}, err
	}
	if t.IsSystemTag {
		return Tag{}, route.BadRequest("Cannot update a system tag.")
	}
	in.into(&t)
	return showTag(fsm.Tags.Put(c.Tx, t)), nil
}

func deleteTag(c *Ctx, in tagID) (route.Empty, error) {
	t, err := tagOf(c, in.ID)
	if err != nil {
		return route.Empty{}, err
	}
	if t.IsSystemTag {
		return route.Empty{}, route.Body(400, map[string]string{"message": "Cannot delete a system tag."})
	}
	for _, f := range fsm.FeaturesByProject.List(c.Tx, c.Project.ID) {
		if i := slices.Index(f.Tags, t.ID); i >= 0 {
			f.Tags = slices.Delete(slices.Clone(f.Tags), i, i+1)
			fsm.Features.Put(c.Tx, f)
		}
	}
	fsm.Tags.Delete(c.Tx, t.ID)
	return route.Empty{}, nil
}

func tagOf(c *Ctx, id uint64) (fsm.Tag, error) {
	t, ok := fsm.Tags.Get(c.Reader, id)
	if !ok || t.Project != c.Project.ID {
		return fsm.Tag{}, route.NotFound("Tag")
	}
	return t, nil
}
