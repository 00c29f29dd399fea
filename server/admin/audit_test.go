package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// logs gives the texts of a page of audit rows.
func (r reply) logs() (texts []string) {
	for _, row := range r.object()["results"].([]any) {
		texts = append(texts, row.(map[string]any)["log"].(string))
	}
	return texts
}

func TestAudit(t *testing.T) {
	h := newHarness(t)
	e := h.newEnvironment("Development")
	path := environments + e["api_key"].(string) + "/"
	h.patch(path, `{"description":"dev env"}`, 200)
	h.send("PATCH", path, `{"description":"by key"}`, h.key()).must(200)
	h.post(path+"clone/", `{"name":"Cloned"}`, 200)
	want := []string{"Environment updated: Cloned", "New Environment created: Cloned", "Environment updated: Development",
		"Environment updated: Development", "New Environment created: Development"}
	organisation, project := fmt.Sprintf("/api/v1/organisations/%d/audit/", h.organisation.ID), fmt.Sprintf("/api/v1/projects/%d/audit/", h.project.ID)
	for _, list := range []string{"/api/v1/audit/", organisation, project} {
		require.Equal(t, want, h.get(list, 200).logs(), list)
	}

	require.Len(t, h.get(fmt.Sprintf("/api/v1/audit/?environments=%v", e["id"]), 200).logs(), 3)
	require.Len(t, h.get(fmt.Sprintf("/api/v1/audit/?environments=%v&environments=999", e["id"]), 200).logs(), 3)
	require.Len(t, h.get("/api/v1/audit/?search=CLONED", 200).logs(), 2)
	require.Empty(t, h.get("/api/v1/audit/?project=999", 200).logs())
	require.Empty(t, h.get("/api/v1/audit/?is_system_event=true", 200).logs())
	require.Len(t, h.get("/api/v1/audit/?is_system_event=false", 200).logs(), 5)
	h.get("/api/v1/audit/?project=abc", 400).is(`{"project":["A valid integer is required."]}`)
	require.Len(t, h.get(fmt.Sprintf("/api/v1/audit/?author=%d", h.admin.ID), 200).logs(), 4, "one was made with a key")
	require.Empty(t, h.get("/api/v1/audit/?author=999", 200).logs())
	require.Len(t, h.get("/api/v1/audit/?related_object_type=ENVIRONMENT", 200).logs(), 5)
	require.Empty(t, h.get("/api/v1/audit/?related_object_type=FEATURE", 200).logs())
	first := h.get(project, 200).object()["results"].([]any)[4].(map[string]any)["created_date"].(string)
	require.Len(t, h.get("/api/v1/audit/?created_after="+first, 200).logs(), 5)
	require.Empty(t, h.get("/api/v1/audit/?created_before="+first, 200).logs())
	h.get("/api/v1/audit/?created_after=yesterday", 400)
	page := h.get(project+"?page_size=2", 200).object()
	require.EqualValues(t, 5, page["count"])
	require.Equal(t, "http://server"+project+"?page=2&page_size=2", page["next"])
	for _, filter := range []string{"", "&is_system_event=false"} { // that all rows pass
		var pages []string
		for n := 1; n <= 3; n++ {
			pages = append(pages, h.get(fmt.Sprintf("%s?page_size=2&page=%d%s", project, n, filter), 200).logs()...)
		}
		require.Equal(t, want, pages, filter)
		h.get(project+"?page_size=2&page=4"+filter, 404)
	}

	rows := h.get(project, 200).object()["results"].([]any)
	require.Nil(t, rows[2].(map[string]any)["author"], "made with a key")
	require.Equal(t, "admin@example.com", rows[3].(map[string]any)["author"].(map[string]any)["email"])
	detail := h.get(fmt.Sprintf("%s%v/", project, rows[3].(map[string]any)["id"]), 200).object()
	require.Equal(t, "UPDATE", detail["change_type"])
	require.Contains(t, detail["change_details"], map[string]any{"field": "description", "old": nil, "new": "dev env"})
	require.Equal(t, "CREATE", h.get(fmt.Sprintf("/api/v1/audit/%v/", rows[4].(map[string]any)["id"]), 200).object()["change_type"])
	h.get(organisation+"999/", 404).is(`{"detail":"No AuditLog matches the given query."}`)
}

func TestAuditOutlivesProjects(t *testing.T) {
	h := newHarness(t)
	h.patch(environments+"env-key/", `{"description":"x"}`, 200)
	h.remove(fmt.Sprintf("/api/v1/projects/%d/", h.project.ID), 204)
	row := h.get("/api/v1/audit/", 200).object()["results"].([]any)[0].(map[string]any)
	require.Equal(t, "Env", row["environment"].(map[string]any)["name"])
	require.Equal(t, "Project", row["project"].(map[string]any)["name"])
}

func TestAuditRefusals(t *testing.T) {
	h := newHarness(t)
	h.patch(environments+"env-key/", `{"description":"x"}`, 200)
	project := fmt.Sprintf("/api/v1/projects/%d/audit/", h.project.ID)
	require.Empty(t, h.do("member", "GET", "/api/v1/audit/", nil).must(200).logs())
	h.do("member", "GET", fmt.Sprintf("/api/v1/organisations/%d/audit/", h.organisation.ID), nil).must(403)
	h.do("member", "GET", project, nil).must(403)
	h.send("GET", "/api/v1/audit/", nil, h.key()).must(403)
	h.grant(fsm.LevelProject, h.project.ID, "VIEW_AUDIT_LOG")
	require.Len(t, h.do("member", "GET", project, nil).must(200).logs(), 1)
}

// TestAuditOfNoEnvironment filters by an id that no environment has; rows of no environment have none either.
func TestAuditOfNoEnvironment(t *testing.T) {
	h := newHarness(t)
	h.feature(`{"name":"f"}`)
	require.NotEmpty(t, h.get("/api/v1/audit/?related_object_type=FEATURE", 200).logs())
	require.Empty(t, h.get("/api/v1/audit/?environments=0", 200).logs())
}
