package route

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type described struct {
	ID       int         `json:"id"`
	At       time.Time   `json:"at"`
	Children []described `json:"children"`
	Note     *string     `json:"note"`
	Value    Scalar      `json:"value" types:"integer,null"`
	Either   Scalar      `json:"either" types:"string,integer,null"`
	Any      Scalar      `json:"any"`
}

type describedIn struct {
	Project uint64   `path:"project_pk"`
	Tags    []uint64 `query:"tags" v:"csv"`
	Dry     string   `query:"dry" types:"boolean"`
	widget
}

type allow struct{}

func (allow) Name() string      { return "nothing" }
func (allow) Check(*Call) error { return nil }

func TestOpenAPI(t *testing.T) {
	table, err := NewTable([]Row{
		{Method: "POST", Path: "/api/v1/projects/{project_pk}/things/", OperationID: "create", Tag: "Things", Status: 201, Auth: Admin, Kind: Write,
			Permission: allow{}, Handler: Func(func(*Call, describedIn) (described, error) { return described{}, nil })},
		{Method: "PATCH", Path: "/api/v1/projects/{project_pk}/things/", OperationID: "patch", Tag: "Things", Auth: Admin, Kind: Write,
			Handler: Func(func(*Call, describedIn) (described, error) { return described{}, nil })},
		{Method: "GET", Path: "/api/v1/things/", OperationID: "list", Tag: "Things",
			Handler: Func(func(*Call, struct{}) (Page[described], error) { return Page[described]{}, nil })},
		{Method: "GET", Path: "/hidden/", OperationID: "hidden", Hidden: true, Handler: Func(noop)},
	})
	require.NoError(t, err)
	asJSON := table.OpenAPI(APIInfo{Title: "x", Version: "1"})
	asYAML, err := YAML(asJSON)
	require.NoError(t, err)

	var doc, again map[string]any
	require.NoError(t, json.Unmarshal(asJSON, &doc))
	require.NoError(t, yaml.Unmarshal(asYAML, &again))
	paths := doc["paths"].(map[string]any)
	require.Len(t, paths, 2)
	require.Len(t, again["paths"], 2)
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for _, name := range []string{"Described", "DescribedRequest", "PatchedDescribedRequest", "PaginatedDescribedList", "PartRequest"} {
		require.Contains(t, schemas, name)
	}
	value := schemas["Described"].(map[string]any)["properties"].(map[string]any)["value"]
	require.Equal(t, map[string]any{"type": []any{"integer", "null"}}, value)
	require.Contains(t, string(asJSON), `{"name":"dry","in":"query","required":false,"schema":{"type":"boolean"}}`)
	either := schemas["Described"].(map[string]any)["properties"].(map[string]any)["either"]
	require.Equal(t, map[string]any{"anyOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}, map[string]any{"type": "null"}}}, either,
		"generators refuse several types besides null in one list")
	require.NotRegexp(t, `"type":\["\w+"[^]]*,[^]]*,`, string(asJSON))
	require.Equal(t, []any{"name"}, schemas["DescribedRequest"].(map[string]any)["required"])
	require.NotContains(t, schemas["PatchedDescribedRequest"], "required")
	for _, r := range regexp.MustCompile(`"#/components/(\w+)/(\w+)"`).FindAllSubmatch(asJSON, -1) {
		require.Contains(t, doc["components"].(map[string]any)[string(r[1])], string(r[2]), "dangling reference")
	}
}

type either struct{}

func (either) Alternatives() []any { return []any{described{}, ""} }

func TestOpenAPIAnswers(t *testing.T) {
	type path struct {
		ID int64 `path:"id"`
	}
	blob := Func(func(*Call, path) (Blob, error) { return Blob{}, nil })
	table, err := NewTable([]Row{
		{Method: "GET", Path: "/either/{id}/", OperationID: "either", Refusals: []int{404, 429, 503}, Bare: []int{400}, Handler: Raw(nil, path{}, either{})},
		{Method: "GET", Path: "/page/{id}/", OperationID: "page", Media: "text/html", Handler: blob},
		{Method: "GET", Path: "/document/{id}/", OperationID: "document", Media: "application/json", Handler: blob},
		{Method: "GET", Path: "/file/{id}/", OperationID: "file", Handler: blob},
	})
	require.NoError(t, err)
	asJSON := table.OpenAPI(APIInfo{})
	asYAML, err := YAML(asJSON)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(asYAML, &map[string]any{}), "a status stands twice")
	var doc struct {
		Paths map[string]struct {
			Get struct{ Responses map[string]json.RawMessage }
		}
		Components struct{ Responses map[string]map[string]any }
	}
	require.NoError(t, json.Unmarshal(asJSON, &doc))
	answers := func(path string) map[string]json.RawMessage { return doc.Paths[path].Get.Responses }

	all := answers("/either/{id}/")
	require.Len(t, all, 6)
	for status, component := range map[string]string{
		"400": "RefusedBare", "404": "Refused", "405": "MethodNotAllowed", "429": "Throttled",
		"503": "Refused", // the row's own, although every node may be busy
	} {
		require.JSONEq(t, `{"$ref": "#/components/responses/`+component+`"}`, string(all[status]), status)
	}
	require.NotContains(t, doc.Components.Responses["RefusedBare"], "content")
	require.JSONEq(t, `{"description": "Success.", "content": {"application/json": {"schema":
		{"anyOf": [{"$ref": "#/components/schemas/Described"}, {"type": "string"}]}}}}`, string(all["200"]))
	for path, content := range map[string]string{
		"/page/{id}/":     `{"text/html": {"schema": {"type": "string"}}}`,
		"/document/{id}/": `{"application/json": {"schema": {}}}`,
		"/file/{id}/":     `{"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}`,
	} {
		require.JSONEq(t, `{"description": "Success.", "content": `+content+`}`, string(answers(path)["200"]))
	}
}

func TestOpenAPIRefusals(t *testing.T) {
	row := func(method, path string, kind Kind, auth Auth, h Handler) Row {
		return Row{Method: method, Path: path, OperationID: method + path, Kind: kind, Auth: auth, Handler: h}
	}
	typed, raw := Func(noop), Raw(nil, widget{}, nil)
	table, err := NewTable([]Row{
		row("GET", "/read/", Read, Admin, typed),
		row("POST", "/write/", Write, Admin, typed),
		row("POST", "/open/", Write, None, typed),
		row("POST", "/identity/", Identity, EnvironmentKey, raw),
		row("GET", "/identity/", Identity, EnvironmentKey, Raw(nil, nil, nil)),
		row("GET", "/local/", Local, None, typed),
	})
	require.NoError(t, err)
	asJSON := table.OpenAPI(APIInfo{})
	var doc struct {
		Paths      map[string]map[string]struct{ Responses map[string]any }
		Components struct{ Responses map[string]any }
	}
	require.NoError(t, json.Unmarshal(asJSON, &doc))
	for where, want := range map[string][]string{
		"get /read/":      {"200", "400", "401", "403", "405", "406", "429", "503"},
		"post /write/":    {"200", "400", "401", "403", "405", "406", "413", "422", "429", "503", "507"},
		"post /open/":     {"200", "400", "405", "406", "413", "422", "503", "507"},
		"post /identity/": {"200", "400", "403", "405", "413", "415", "503", "507"},
		"get /identity/":  {"200", "403", "405", "503"},
		"get /local/":     {"200", "405", "503"},
	} {
		method, path, _ := strings.Cut(where, " ")
		require.Equal(t, want, slices.Sorted(maps.Keys(doc.Paths[path][method].Responses)), where)
	}
	for name := range doc.Components.Responses {
		if name != "NotFound" && name != "Refused" && name != "RefusedBare" { // of rows that are not here
			require.Contains(t, string(asJSON), `"#/components/responses/`+name+`"`, "nothing names it")
		}
	}
}

// TestOutputRequired lists as required what is always written.
func TestOutputRequired(t *testing.T) {
	type shape struct {
		Always string   `json:"always"`
		Empty  string   `json:"empty,omitempty"`
		Zero   [16]byte `json:"zero,omitzero"`
	}
	require.Contains(t, string(AppendJSON(nil, newTypeWriter().outputObject(reflect.TypeFor[shape]()))), `"required":["always"]`)
}

// TestNumbersAreExact names the width of numbers wherever one is read or written: generators of clients take 32 bits without.
func TestNumbersAreExact(t *testing.T) {
	type part struct {
		Share float64             `json:"share" v:"min=0"`
		Maybe Optional[float64]   `json:"maybe" v:"null"`
		All   Optional[[]float64] `json:"all"`
		Any   Scalar              `json:"any"`
		Count uint64              `json:"count"`
	}
	type answer struct {
		Share *float64           `json:"share"`
		By    map[string]float64 `json:"by"`
		Any   Scalar             `json:"any"`
	}
	table, err := NewTable([]Row{{Method: "POST", Path: "/parts/", OperationID: "parts", Tag: "Parts", Kind: Write,
		Handler: Func(func(*Call, part) (answer, error) { return answer{}, nil })}})
	require.NoError(t, err)
	doc := string(table.OpenAPI(APIInfo{Title: "x", Version: "1"}))
	numbers := regexp.MustCompile(`"type":(\["number","null"\]|"number")`).FindAllStringIndex(doc, -1)
	require.Len(t, numbers, 7)
	for _, n := range numbers {
		require.True(t, strings.HasPrefix(doc[n[1]:], `,"format":"double"`), doc[n[0]:])
	}
}
