package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// auditJSON is a row of the audit log.
type auditJSON struct {
	ID                uint64           `json:"id"`
	CreatedDate       fsm.Time         `json:"created_date"`
	Log               string           `json:"log"`
	Author            *userSummary     `json:"author"`
	Environment       *environmentJSON `json:"environment"`
	Project           *projectJSON     `json:"project"`
	RelatedObjectID   *uint64          `json:"related_object_id"`
	RelatedObjectUUID *uuid.UUID       `json:"related_object_uuid"`
	RelatedObjectType string           `json:"related_object_type"`
	IsSystemEvent     bool             `json:"is_system_event"`
}

// auditDetail is a row alone, with what the change was.
type auditDetail struct {
	auditJSON
	ChangeDetails []fieldChange `json:"change_details"`
	ChangeType    string        `json:"change_type"`
}

type auditFilter struct {
	Project       route.Optional[uint64] `query:"project"`
	Environments  []uint64               `query:"environments"`
	IsSystemEvent route.Optional[bool]   `query:"is_system_event"`
	Search        string                 `query:"search" v:"max=256"`

	// Ours: the reference filters no further.
	Author route.Optional[uint64]   `query:"author"`
	Kind   string                   `query:"related_object_type" v:"blank,max=64"`
	After  route.Optional[fsm.Time] `query:"created_after"`
	Before route.Optional[fsm.Time] `query:"created_before"`
}

// takesAll reports whether there is nothing to filter by.
func (f auditFilter) takesAll() bool {
	return !f.Project.Set && len(f.Environments) == 0 && !f.IsSystemEvent.Set && f.Search == "" && !f.Author.Set && f.Kind == "" && !f.After.Set && !f.Before.Set
}

func (f auditFilter) takes(a *fsm.AuditLog) bool {
	return (!f.Project.Set || a.Project == f.Project.Value) &&
		(len(f.Environments) == 0 || a.Environment != 0 && slices.Contains(f.Environments, a.Environment)) &&
		(!f.IsSystemEvent.Set || a.IsSystemEvent == f.IsSystemEvent.Value) &&
		(f.Search == "" || strings.Contains(strings.ToLower(a.Log), strings.ToLower(f.Search))) &&
		(!f.Author.Set || a.Author == f.Author.Value) &&
		(f.Kind == "" || a.RelatedObjectType == f.Kind) &&
		(!f.After.Set || a.CreatedDate >= f.After.Value) &&
		(!f.Before.Set || a.CreatedDate < f.Before.Value)
}

type auditRef struct {
	ID uint64 `path:"id"`
}

func auditRows() []route.Row {
	const (
		all          = "/api/v1/audit/"
		organisation = "/api/v1/organisations/{organisation_pk}/audit/"
		project      = "/api/v1/projects/{project_pk}/audit/"
	)
	user := Custom("user", refuseKeys)
	admin, viewer := OrganisationAdmin(Path("organisation_pk")), ProjectPermission("VIEW_AUDIT_LOG", Path("project_pk"))
	return []route.Row{
		{Method: "GET", Path: all, OperationID: "api_v1_audit_list", Tag: "Audit", Summary: "Audit rows of the organisations that the caller administers.",
			Auth: route.Admin, Permission: user, Handler: read(listAudit)},
		{Method: "GET", Path: all + "{id}/", OperationID: "api_v1_audit_retrieve", Tag: "Audit", Auth: route.Admin, Permission: user,
			Handler: read(getAudit)},
		{Method: "GET", Path: organisation, OperationID: "api_v1_organisations_audit_list", Tag: "Audit", Auth: route.Admin, Permission: admin,
			Handler: read(listOrganisationAudit)},
		{Method: "GET", Path: organisation + "{id}/", OperationID: "api_v1_organisations_audit_retrieve", Tag: "Audit", Auth: route.Admin,
			Permission: admin, Handler: read(getOrganisationAudit)},
		{Method: "GET", Path: project, OperationID: "api_v1_projects_audit_list", Tag: "Audit", Auth: route.Admin, Permission: viewer,
			Handler: read(listProjectAudit)},
		{Method: "GET", Path: project + "{id}/", OperationID: "api_v1_projects_audit_retrieve", Tag: "Audit", Auth: route.Admin, Permission: viewer,
			Handler: read(getProjectAudit)},
	}
}

// refuseKeys: the list over all organisations is about a user.
func refuseKeys(c *Ctx) error {
	if c.Principal.Key != nil {
		return route.PermissionDenied()
	}
	return nil
}

func listAudit(c *Ctx, in auditFilter) (route.SizedPage[auditJSON], error) {
	var organisations []uint64
	for m := range fsm.MembershipsByUser.Refs(c, c.Principal.UserID()) {
		if m.Role == fsm.RoleAdmin {
			organisations = append(organisations, m.Organisation)
		}
	}
	return auditPage(c, in, fsm.AuditLogsByOrganisation, organisations...)
}

func getAudit(c *Ctx, in auditRef) (auditDetail, error) {
	a, ok := fsm.AuditLogs.Get(c, in.ID)
	return auditAlone(c, a, ok && c.IsOrganisationAdmin(a.Organisation))
}

func listOrganisationAudit(c *Ctx, in auditFilter) (route.SizedPage[auditJSON], error) {
	return auditPage(c, in, fsm.AuditLogsByOrganisation, c.Organisation.ID)
}

func getOrganisationAudit(c *Ctx, in auditRef) (auditDetail, error) {
	a, ok := fsm.AuditLogs.Get(c, in.ID)
	return auditAlone(c, a, ok && a.Organisation == c.Organisation.ID)
}

func listProjectAudit(c *Ctx, in auditFilter) (route.SizedPage[auditJSON], error) {
	return auditPage(c, in, fsm.AuditLogsByProject, c.Project.ID)
}

func getProjectAudit(c *Ctx, in auditRef) (auditDetail, error) {
	a, ok := fsm.AuditLogs.Get(c, in.ID)
	return auditAlone(c, a, ok && a.Project == c.Project.ID)
}

// auditPage shows the newest rows first of those that have one of the keys in an index. There may be a million of them and more:
// with one key and no filter, nothing but the page is looked at.
func auditPage(c *Ctx, in auditFilter, index fsm.Index[fsm.AuditLog], keys ...uint64) (route.SizedPage[auditJSON], error) {
	render := func(a *fsm.AuditLog) auditJSON { return renderAudit(c, *a) }
	if len(keys) == 1 && in.takesAll() {
		total := index.Count(c, keys[0])
		p, err := route.ReadPage(c.Call, total, true)
		if err != nil {
			return route.SizedPage[auditJSON]{}, err
		}
		rows := index.Slice(c, total-p.Offset-p.Limit, total-p.Offset, keys[0])
		slices.Reverse(rows)
		return route.SizedPage[auditJSON](route.Envelope(c.Call, p, total, mapped(rows, render))), nil
	}
	var rows []*fsm.AuditLog
	for _, key := range keys {
		for a := range index.Refs(c, key) {
			if in.takes(a) {
				rows = append(rows, a)
			}
		}
	}
	slices.SortFunc(rows, func(a, b *fsm.AuditLog) int { return cmp.Compare(b.ID, a.ID) })
	return paginateSized(c, rows, render)
}

func auditAlone(c *Ctx, a fsm.AuditLog, visible bool) (auditDetail, error) {
	if !visible {
		return auditDetail{}, route.NotFound(fsm.AuditLogs.Name())
	}
	out := auditDetail{auditJSON: renderAudit(c, a)}
	out.ChangeType, out.ChangeDetails = auditChange(c, a)
	return out, nil
}

// renderAudit shows a row with its project and environment as they are, or as they were when they were deleted.
func renderAudit(r fsm.Reader, a fsm.AuditLog) auditJSON {
	out := auditJSON{ID: a.ID, CreatedDate: a.CreatedDate, Log: a.Log, Author: renderUser(r, a.Author), RelatedObjectType: a.RelatedObjectType,
		IsSystemEvent: a.IsSystemEvent}
	if a.RelatedObjectID != 0 {
		out.RelatedObjectID = &a.RelatedObjectID
	}
	if a.RelatedObjectUUID != uuid.Nil {
		out.RelatedObjectUUID = &a.RelatedObjectUUID
	}
	if p, ok := firstOf(r, a.Project, fsm.Projects, fsm.DeletedProjects); ok {
		shown := renderProject(p)
		out.Project = &shown
	}
	if e, ok := firstOf(r, a.Environment, fsm.Environments, fsm.DeletedEnvironments); ok {
		shown := renderEnvironment(e)
		out.Environment = &shown
	}
	return out
}

// firstOf gets the row with that id from the first table that has it.
func firstOf[R any](r fsm.Reader, id uint64, tables ...fsm.Table[R]) (row R, ok bool) {
	for _, t := range tables {
		if row, ok = t.Get(r, id); ok {
			return row, true
		}
	}
	return row, false
}
