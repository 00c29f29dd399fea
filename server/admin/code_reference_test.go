package admin

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

const codeReferences = "/api/v1/projects/1/code-references/"

func TestCodeReferences(t *testing.T) {
	h := newHarness(t)
	h.post("/api/v1/projects/1/features/", `{"name":"f"}`, 201)
	h.post("/api/v1/projects/1/features/", `{"name":"g"}`, 201)
	of := func(feature int) reply {
		return h.get(fmt.Sprintf("/api/v1/projects/1/features/%d/code-references/", feature), 200)
	}
	of(1).is(`[]`)
	h.post(codeReferences, `{}`, 400).is(`{"repository_url":["This field is required."],"revision":["This field is required."],"code_references":["This field is required."]}`)
	h.post(codeReferences, `{"repository_url":"x","revision":"r","vcs_provider":"cvs","code_references":[{"feature_name":"f","file_path":"a","line_number":0}]}`, 400).
		is(`{"repository_url":["Enter a valid URL."],"vcs_provider":["\"cvs\" is not a valid choice."],
			"code_references":[{"line_number":["Ensure this value is greater than or equal to 1."]}]}`)

	scan := func(revision, references string) reply {
		return h.post(codeReferences, fmt.Sprintf(`{"repository_url":"https://github.com/a/b","revision":%q,"code_references":[%s]}`, revision, references), 201)
	}
	made := scan("r1", `{"feature_name":"f","file_path":"src/a b.go","line_number":3},{"feature_name":"f","file_path":"c.go","line_number":4},{"feature_name":"unknown","file_path":"c.go","line_number":5}`).object()
	at := made["created_at"]
	require.Equal(t, []any{"github", 1.0, "r1"}, []any{made["vcs_provider"], made["project"], made["revision"]})
	require.Len(t, made["code_references"], 3)
	detail := func(path, escaped string, line int) string {
		return fmt.Sprintf(`{"file_path":%q,"line_number":%d,"scanned_at":%q,"vcs_provider":"github","repository_url":"https://github.com/a/b","revision":"r1",
			"permalink":"https://github.com/a/b/blob/r1/%s#L%d"}`, path, line, at, escaped, line)
	}
	of(1).is(fmt.Sprintf(`[{"repository_url":"https://github.com/a/b","vcs_provider":"github","revision":"r1","last_successful_repository_scanned_at":%q,
		"last_feature_found_at":%q,"code_references":[%s,%s]}]`, at, at, detail("src/a b.go", "src/a%20b.go", 3), detail("c.go", "c.go", 4)))
	of(2).is(fmt.Sprintf(`[{"repository_url":"https://github.com/a/b","vcs_provider":"github","revision":"r1","last_successful_repository_scanned_at":%q,
		"last_feature_found_at":null,"code_references":[]}]`, at))
	counts := func(feature string) any {
		return h.get("/api/v1/projects/1/features/"+feature+"/", 200).object()["code_references_counts"]
	}
	require.Equal(t, []any{map[string]any{"repository_url": "https://github.com/a/b", "count": 2.0, "last_successful_repository_scanned_at": at, "last_feature_found_at": at}}, counts("1"))

	// A later scan replaces the first one; when it found a feature is remembered.
	scan("r2", `{"feature_name":"g","file_path":"c.go","line_number":4}`)
	repository := of(1).list()[0].(map[string]any)
	require.Equal(t, []any{"r2", at, 0}, []any{repository["revision"], repository["last_feature_found_at"], len(repository["code_references"].([]any))})
	scan("r3", "")
	require.Equal(t, at, of(1).list()[0].(map[string]any)["last_feature_found_at"])
	h.node.Write(t, func(tx *fsm.Tx) error {
		r, _ := fsm.CodeRepositoriesByProject.First(tx, uint64(1))
		r.ScannedAt = tx.Now().Add(-codeMemory - time.Hour)
		r.Earlier[0].At = r.ScannedAt
		fsm.CodeRepositories.Put(tx, r)
		return nil
	})
	require.Nil(t, of(1).list()[0].(map[string]any)["last_feature_found_at"])
	require.Empty(t, counts("1"))

	h.do("member", "POST", codeReferences, `{}`).must(403)
	h.do("member", "GET", "/api/v1/projects/1/features/1/code-references/", nil).must(403)
	h.get("/api/v1/projects/1/features/9/code-references/", 404)
	for i := range maxCodeRepositories {
		body := fmt.Sprintf(`{"repository_url":"https://github.com/a/%d","revision":"r","code_references":[]}`, i)
		h.do("admin", "POST", codeReferences, body).must(map[bool]int{true: 201, false: 400}[i < maxCodeRepositories-1])
	}
	h.remove("/api/v1/projects/1/", 204)
	for range fsm.CodeRepositories.All(h.node.FSM.State()) {
		t.Fatal("a repository is left")
	}
}

func TestFeatureLifecycle(t *testing.T) {
	h := newHarness(t)
	h.node.Write(t, func(tx *fsm.Tx) error {
		stale := fsm.Tags.Put(tx, fsm.Tag{Project: 1, Label: "Stale", Type: "STALE", IsSystemTag: true})
		permanent := fsm.Tags.Put(tx, fsm.Tag{Project: 1, Label: "Permanent", Type: "NONE", IsPermanent: true})
		for name, tags := range map[string][]uint64{"new": nil, "live": nil, "stale": {stale.ID}, "permanent": {permanent.ID, stale.ID}, "used": {stale.ID}, "dead": {stale.ID}, "dead2": {stale.ID}} {
			f := fsm.Features.Put(tx, fsm.Feature{Name: name, Project: 1, Tags: tags, CreatedDate: tx.Now()})
			if name == "used" {
				fsm.Usages.Put(tx, fsm.Usage{Environment: 1, Kind: fsm.UsageEvaluation, Feature: f.ID, Bucket: tx.Now(), Count: 1})
			}
		}
		return nil
	})
	h.post(codeReferences, `{"repository_url":"https://github.com/a/b","revision":"r","code_references":[{"feature_name":"live","file_path":"a","line_number":1},
		{"feature_name":"stale","file_path":"a","line_number":1},{"feature_name":"permanent","file_path":"a","line_number":1}]}`, 201)
	h.feature(`{"name":"old","is_archived":true}`)
	const counts = "/api/v1/environments/1/feature-lifecycle-counts/"
	h.get(counts, 200).is(`{"new":1,"live":1,"stale":1,"permanent":1,"needs_monitoring":1,"to_remove":2}`)
	require.Empty(t, h.do("member", "GET", counts, nil).must(403).Raw)
	h.get("/api/v1/environments/9/feature-lifecycle-counts/", 404)
	h.grant(fsm.LevelEnvironment, 1, "VIEW_ENVIRONMENT")
	h.do("member", "GET", counts, nil).must(200)
	require.Contains(t, h.get("/api/v1/projects/1/features/?environment=1&lifecycle_stage=to_remove", 200).Raw, `"count":2`)
	require.Contains(t, h.get("/api/v1/projects/1/features/?environment=1&lifecycle_stage=live", 200).Raw, `"name":"live"`)
	h.get("/api/v1/projects/1/features/?lifecycle_stage=live", 400)
}

// TestLifecycleRefusalIsDescribedBare wants no body promised where none comes: generated clients fail reading it.
func TestLifecycleRefusalIsDescribedBare(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]map[string]any `json:"responses"`
		} `json:"paths"`
	}
	h := newHarness(t)
	require.NoError(t, json.Unmarshal(h.table.OpenAPI(route.APIInfo{Title: "t", Version: "v"}), &doc))
	refusal := doc.Paths["/api/v1/environments/{environment_pk}/feature-lifecycle-counts/"]["get"].Responses["403"]
	require.Equal(t, map[string]any{"$ref": "#/components/responses/RefusedBare"}, refusal)
}
