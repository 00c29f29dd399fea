package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// field makes a custom field of the organisation for a kind of objects and gives the model field's id.
func (h *harness) field(name, kind string, content fsm.ContentType, requiredFor string) uint64 {
	h.Helper()
	f := h.post("/api/v1/metadata/fields/", fmt.Sprintf(`{"name":%q,"type":%q,"organisation":%d}`, name, kind, h.organisation.ID), 201).id()
	return h.post(h.modelFields(), fmt.Sprintf(`{"field":%d,"content_type":%d,"is_required_for":[%s]}`, f, content, requiredFor), 201).id()
}

func (h *harness) modelFields() string {
	return fmt.Sprintf("/api/v1/organisations/%d/metadata-model-fields/", h.organisation.ID)
}

func TestMetadataFields(t *testing.T) {
	h := newHarness(t)
	const list = "/api/v1/metadata/fields/"
	id := h.post(list, `{"name":"ticket","description":"Jira ticket","organisation":1}`, 201).
		is(`{"id":1,"name":"ticket","type":"str","description":"Jira ticket","organisation":1,"project":null,"model_fields":[]}`).id()
	detail := fmt.Sprintf("%s%d/", list, id)
	h.post(list, `{"name":"ticket","organisation":1}`, 400).is(`{"non_field_errors":["A metadata field with this name already exists."]}`)
	h.post(list, `{"name":"x","type":"float","organisation":1}`, 400).is(`{"type":["\"float\" is not a valid choice."]}`)
	h.post(list, `{"name":"x"}`, 403)
	h.do("member", "POST", list, `{"name":"x","organisation":1}`).must(403)
	h.get(list, 400).is(`{"organisation":["This field is required."]}`)
	require.Contains(t, h.do("member", "GET", list+"?organisation=1", nil).must(200).Raw, `"count":1`)
	require.Contains(t, h.do("stranger", "GET", list+"?organisation=1", nil).must(200).Raw, `"count":0`)
	h.do("stranger", "GET", detail, nil).must(404).is(`{"detail":"No MetadataField matches the given query."}`)
	h.do("member", "GET", detail, nil).must(200)
	h.do("member", "PATCH", detail, `{"name":"y"}`).must(403)
	h.patch(detail, `{"organisation":2}`, 400).is(`{"organisation":["The organisation of a field cannot be changed."]}`)
	require.Equal(t, "url", h.put(detail, `{"name":"ticket","type":"url","organisation":1}`, 200).object()["type"])

	// A field of one project is its admin's business, and shown there.
	h.grant(fsm.LevelProject, h.project.ID)
	own := h.do("member", "POST", list, `{"name":"ticket","organisation":1,"project":1}`).must(201).id()
	h.do("member", "POST", list, `{"name":"ticket","organisation":2,"project":1}`).must(400).is(`{"project":["The project does not belong to the organisation."]}`)
	h.do("member", "PATCH", fmt.Sprintf("%s%d/", list, own), `{"description":"d"}`).must(200)
	h.do("member", "POST", h.modelFields(), fmt.Sprintf(`{"field":%d,"content_type":55}`, own)).must(201)
	h.do("member", "POST", h.modelFields(), fmt.Sprintf(`{"field":%d,"content_type":55}`, id)).must(403)
	require.Contains(t, h.get(list+"?organisation=1", 200).Raw, `"count":1`)
	const project = "/api/v1/projects/1/metadata/fields/"
	require.Contains(t, h.get(project, 200).Raw, `"count":1`)
	require.Contains(t, h.get(project+"?include_organisation=true", 200).Raw, `"count":2`)
	require.Contains(t, h.get(project+"?include_organisation=true&entity=feature", 200).Raw, `"count":1`)
	require.Contains(t, h.get(project+"?entity=segment", 200).Raw, `"count":0`)
	h.get(fmt.Sprintf("%s%d/", project, own), 200)
	h.get(project+"99/", 404)
	h.do("stranger", "GET", project, nil).must(403)
	h.remove(detail, 204)
	h.get(detail, 404)
}

func TestMetadataModelFields(t *testing.T) {
	h := newHarness(t)
	field := h.post("/api/v1/metadata/fields/", `{"name":"ticket","organisation":1}`, 201).id()
	list := h.modelFields()
	body := func(rest string) string { return fmt.Sprintf(`{"field":%d,%s}`, field, rest) }
	h.get(list+"supported-content-types/", 200).is(`[{"id":27,"app_label":"organisations","model":"organisation"},{"id":43,"app_label":"projects","model":"project"},
		{"id":46,"app_label":"environments","model":"environment"},{"id":55,"app_label":"features","model":"feature"},{"id":89,"app_label":"segments","model":"segment"}]`)
	h.get(list+"supported-required-for-models/?model_name=segment", 200).
		is(`[{"id":27,"app_label":"organisations","model":"organisation"},{"id":43,"app_label":"projects","model":"project"}]`)
	h.get(list+"supported-required-for-models/", 400).is(`{"model_name":["This field is required."]}`)
	h.get(list+"supported-required-for-models/?model_name=project", 404).is(`{"message":"No supported models found for the given model name."}`)

	h.post(list, body(`"content_type":27`), 400).is(`{"content_type":["Invalid pk \"27\" - object does not exist."]}`)
	h.post(list, `{"content_type":55}`, 403)
	mismatch := `{"non_field_errors":["The requirement organisation does not match the field organisation"]}`
	h.post(list, body(`"content_type":55,"is_required_for":[{"content_type":27,"object_id":2}]`), 400).is(mismatch)
	h.post(list, body(`"content_type":55,"is_required_for":[{"content_type":43,"object_id":9}]`), 400).is(mismatch)
	h.post(list, body(`"content_type":55,"is_required_for":[{"content_type":55,"object_id":1}]`), 400).
		is(`{"non_field_errors":["The requirement content type must be project or organisation"]}`)
	h.post(list, body(`"content_type":55,"is_required_for":[{"content_type":43}]`), 400).is(`{"is_required_for":[{"object_id":["This field is required."]}]}`)
	id := h.post(list, body(`"content_type":55,"is_required_for":[{"content_type":43,"object_id":1}]`), 201).
		is(`{"id":1,"field":1,"content_type":55,"is_required_for":[{"content_type":43,"object_id":1}]}`).id()
	h.post(list, body(`"content_type":55`), 400).is(`{"non_field_errors":["The fields field, content_type must make a unique set."]}`)
	detail := fmt.Sprintf("%s%d/", list, id)
	h.do("member", "GET", detail, nil).must(200)
	h.do("member", "PATCH", detail, `{}`).must(403)
	h.do("member", "POST", list, body(`"content_type":46`)).must(403)
	h.do("stranger", "GET", list, nil).must(403)
	h.put(detail, body(`"content_type":55,"is_required_for":[]`), 200).is(`{"id":1,"field":1,"content_type":55,"is_required_for":[]}`)
	require.Contains(t, h.get(list+"?content_type=55", 200).Raw, `"count":1`)
	require.Contains(t, h.get(list+"?content_type=46", 200).Raw, `"count":0`)
	require.Contains(t, h.get("/api/v1/metadata/fields/1/", 200).Raw, `"model_fields":[{"id":1,"content_type":55,"is_required_for":[]}]`)
	h.remove(detail, 204)
	h.get(detail, 404)
}

// TestMetadataOfObjects writes custom fields with features, segments and environments and reads them where those are shown.
func TestMetadataOfObjects(t *testing.T) {
	for _, o := range []struct {
		content              fsm.ContentType
		list, detail, create string
	}{
		{fsm.ContentFeature, "/api/v1/projects/1/features/", "/api/v1/projects/1/features/%v/", `{"name":%q,"metadata":%s}`},
		{fsm.ContentSegment, "/api/v1/projects/1/segments/", "/api/v1/projects/1/segments/%v/",
			`{"name":%q,"rules":[{"type":"ALL","rules":[]}],"metadata":%s}`},
		{fsm.ContentEnvironment, "/api/v1/environments/", "/api/v1/environments/%v/", `{"name":%q,"project":1,"metadata":%s}`},
	} {
		t.Run(o.list, func(t *testing.T) {
			h := newHarness(t)
			number := h.field("number", "int", o.content, "")
			other := h.field("other", "int", otherThan(o.content), "")
			bad := func(metadata, want string) {
				t.Helper()
				h.post(o.list, fmt.Sprintf(o.create, "bad", metadata), 400).is(want)
			}
			one := func(value string) string { return fmt.Sprintf(`[{"model_field":%d,"field_value":%q}]`, number, value) }
			bad(one("x"), `{"metadata":[{"non_field_errors":["Invalid value for field number"]}]}`)
			bad(`[{"model_field":99,"field_value":"1"}]`, `{"metadata":[{"model_field":["Invalid pk \"99\" - object does not exist."]}]}`)
			bad(fmt.Sprintf(`[{"model_field":%d,"field_value":"1"}]`, other), fmt.Sprintf(`{"metadata":[{"model_field":["Invalid pk \"%d\" - object does not exist."]}]}`, other))
			bad(`[{"model_field":1}]`, `{"metadata":[{"field_value":["This field is required."]}]}`)
			bad(one("1")[:len(one("1"))-1]+","+one("2")[1:], `{"metadata":[{},{"non_field_errors":["The field number is given twice"]}]}`)

			made := h.post(o.list, fmt.Sprintf(o.create, "good", one("7")), 201)
			shown := fmt.Sprintf(`[{"id":1,"model_field":%d,"field_value":"7"}]`, number)
			ref := made.object()["id"]
			if o.content == fsm.ContentEnvironment {
				ref = made.object()["api_key"]
			}
			detail := fmt.Sprintf(o.detail, ref)
			for _, target := range []string{detail, o.list + "?project=1"} {
				require.Contains(t, h.get(target, 200).Raw, `"metadata":`+shown)
			}
			require.Contains(t, made.Raw, `"metadata":`+shown)
			require.Contains(t, h.patch(detail, `{"description":"d"}`, 200).Raw, shown, "what is not sent stays")
			require.Contains(t, h.patch(detail, `{"metadata":`+one("8")+`}`, 200).Raw, `{"id":1,"model_field":1,"field_value":"8"}`, "the id stays")

			demanding := h.field("demanded", "str", o.content, `{"content_type":27,"object_id":1}`)
			missing := `{"metadata":["Missing required metadata field: demanded"]}`
			bad(`[]`, missing)
			h.patch(detail, `{"metadata":[]}`, 400).is(missing)
			h.patch(detail, `{"description":"e"}`, 200)
			h.patch(detail, fmt.Sprintf(`{"metadata":[{"model_field":%d,"field_value":"x"}]}`, demanding), 200)
			require.Len(t, h.get(detail, 200).object()["metadata"], 1)
			h.remove(detail, 204)
			require.Empty(t, h.count(fsm.MetadataValues.All(h.node.FSM.State())))
		})
	}
}

// otherThan is a content type that is not c.
func otherThan(c fsm.ContentType) fsm.ContentType {
	if c == fsm.ContentFeature {
		return fsm.ContentSegment
	}
	return fsm.ContentFeature
}

func (h *harness) count(rows func(func(fsm.Metadata) bool)) (n int) {
	for range rows {
		n++
	}
	return n
}

func TestFieldTakes(t *testing.T) {
	for _, c := range []struct {
		kind, value string
		takes       bool
	}{
		{"int", "7", true}, {"int", "-7", true}, {"int", "1_000", true}, {"int", "7.5", false}, {"int", "", false}, {"int", "_1", false},
		{"bool", "True", true}, {"bool", "false", true}, {"bool", "1", false},
		{"url", "https://example.com/a", true}, {"url", "jira://example.com", true}, {"url", "example.com", false}, {"url", "https://", false},
		{"str", "anything", true}, {"multiline_str", "a\nb", true}, {"str", string(make([]byte, 2001)), false},
	} {
		require.Equal(t, c.takes, fieldTakes(c.kind, c.value), "%s %q", c.kind, c.value)
	}
}

// TestMetadataGoesWithProject deletes a project: its fields go, and what it demanded of others.
func TestMetadataGoesWithProject(t *testing.T) {
	h := newHarness(t)
	h.field("kept", "str", fsm.ContentFeature, `{"content_type":43,"object_id":1}`)
	f := h.post("/api/v1/metadata/fields/", `{"name":"own","organisation":1,"project":1}`, 201).id()
	h.post(h.modelFields(), fmt.Sprintf(`{"field":%d,"content_type":55}`, f), 201)
	h.post("/api/v1/projects/1/features/", `{"name":"f","metadata":[{"model_field":1,"field_value":"a"},{"model_field":2,"field_value":"b"}]}`, 201)
	h.remove("/api/v1/projects/1/", 204)
	require.Empty(t, h.count(fsm.MetadataValues.All(h.node.FSM.State())))
	h.get(h.modelFields(), 200).is(`{"count":1,"next":null,"previous":null,"results":[{"id":1,"field":1,"content_type":55,"is_required_for":[]}]}`)
	h.remove("/api/v1/organisations/1/", 204)
	for range fsm.MetadataFields.All(h.node.FSM.State()) {
		t.Fatal("a field is left")
	}
}

func TestPatchNeedsWholeCustomFields(t *testing.T) {
	h := newHarness(t)
	m := h.field("jira", "str", fsm.ContentFeature, ``)
	f := h.feature(fmt.Sprintf(`{"name":"f","metadata":[{"model_field":%d,"field_value":"J-1"}]}`, m))
	h.patch(fmt.Sprintf("/api/v1/projects/1/features/%d/", f), fmt.Sprintf(`{"metadata":[{"model_field":%d}]}`, m), 400)
}
