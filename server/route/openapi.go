package route

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// APIInfo heads the API description.
type APIInfo struct {
	Title       string
	Version     string
	Description string
}

// OpenAPI renders the OpenAPI 3.1 description of the table as JSON.
func (t *Table) OpenAPI(info APIInfo) []byte {
	g := &apiWriter{types: newTypeWriter()}
	paths := g.paths(t.rows)
	doc := omap{
		{"openapi", "3.1.0"},
		{"info", omap{{"title", info.Title}, {"version", info.Version}, {"description", info.Description}}},
		{"paths", paths},
		{"components", omap{
			{"schemas", g.types.components()},
			{"responses", errorResponses()},
			{"securitySchemes", securitySchemes()},
		}},
	}
	return doc.AppendJSON(nil)
}

// YAML is a JSON document as YAML, its members in the same order.
func YAML(asJSON []byte) ([]byte, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(asJSON, &node); err != nil {
		return nil, fmt.Errorf("render API description: %w", err)
	}
	blockStyle(&node)
	return yaml.Marshal(&node)
}

// blockStyle undoes the flow style and the quotes that JSON brought; the marshaller quotes what needs it.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// omap is a JSON object with its members in order.
type omap []omember

type omember struct {
	name  string
	value any
}

// AppendJSON writes the object.
func (m omap) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, e := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, e.name)
		dst = append(dst, ':')
		dst = AppendJSON(dst, e.value)
	}
	return append(dst, '}')
}

func (m omap) with(name string, value any) omap { return append(m, omember{name, value}) }

// put replaces a member, or adds it.
func (m omap) put(name string, value any) omap {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
			return m
		}
	}
	return m.with(name, value)
}

type apiWriter struct {
	types *typeWriter
}

func (g *apiWriter) paths(rows []*Row) omap {
	byPath := map[string]omap{}
	var order []string
	for _, r := range rows {
		if r.Hidden {
			continue
		}
		if _, ok := byPath[r.Path]; !ok {
			order = append(order, r.Path)
		}
		byPath[r.Path] = byPath[r.Path].with(strings.ToLower(r.Method), g.operation(r))
	}
	slices.Sort(order)
	var out omap
	for _, p := range order {
		out = out.with(p, byPath[p])
	}
	return out
}

func (g *apiWriter) operation(r *Row) omap {
	op := omap{{"operationId", r.OperationID}, {"tags", []string{r.Tag}}}
	if r.Summary != "" {
		op = op.with("summary", r.Summary)
	}
	if d := describe(r); d != "" {
		op = op.with("description", d)
	}
	if p := g.parameters(r); len(p) > 0 {
		op = op.with("parameters", p)
	}
	if b := g.requestBody(r); b != nil {
		op = op.with("requestBody", b)
	}
	op = op.with("responses", g.responses(r))
	if s := security(r.Auth); s != nil {
		op = op.with("security", s)
	}
	if r.Deprecated {
		op = op.with("deprecated", true)
	}
	return op.with("x-flagraft-kind", r.Kind.String())
}

func describe(r *Row) string {
	d := r.Description
	if r.Permission != nil {
		d = strings.TrimSpace(d + "\n\nNeeds: " + r.Permission.Name() + ".")
	}
	return d
}

// inputSchema is the compiled input, for raw rows too.
func inputSchema(r *Row) *Schema {
	if r.schema != nil {
		return r.schema
	}
	in := r.Handler.Input()
	if in == nil || in.Kind() != reflect.Struct {
		return &Schema{}
	}
	s, err := CompileSchema(in)
	if err != nil {
		return &Schema{}
	}
	return s
}

func (g *apiWriter) parameters(r *Row) []omap {
	s := inputSchema(r)
	var out []omap
	for _, name := range r.paramNames {
		schema := omap{{"type", pathType(name)}}
		for _, f := range s.path {
			if f.name == name {
				schema = g.types.input(f)
			}
		}
		out = append(out, omap{{"name", name}, {"in", "path"}, {"required", true}, {"schema", schema}})
	}
	out = append(out, pageParameters(r.Handler.Output())...)
	for _, f := range s.query {
		p := omap{{"name", f.name}, {"in", "query"}, {"required", f.required}, {"schema", g.types.input(f)}}
		if f.csv {
			p = p.with("explode", false)
		}
		out = append(out, p)
	}
	return out
}

// pathType is the type of a path parameter that only the row's permission reads, and that its name tells: "id" and "project_pk" are numbers.
func pathType(name string) string {
	if name == "id" || strings.HasSuffix(name, "_pk") || strings.HasSuffix(name, "_id") {
		return "integer"
	}
	return "string"
}

// pageParameters are those that [ReadPage] reads for a list.
func pageParameters(out reflect.Type) (all []omap) {
	number := func(name, text string) omap {
		return omap{{"name", name}, {"in", "query"}, {"required", false}, {"description", text}, {"schema", omap{{"type", "integer"}, {"minimum", 1}}}}
	}
	if out == nil {
		return nil
	}
	page, ok := reflect.Zero(out).Interface().(paged)
	if !ok {
		return nil
	}
	all = append(all, number("page", "The page of the list; the first is 1."))
	if page.sized() {
		all = append(all, number("page_size", "Results on a page, at most "+strconv.Itoa(MaxPageSize)+"."))
	}
	return all
}

func (g *apiWriter) requestBody(r *Row) omap {
	s := inputSchema(r)
	var schema omap
	switch {
	case s.whole != nil:
		schema = g.types.input(s.whole)
	case s.body != nil:
		schema = g.types.object(s.body, s.typ, r.Method == "PATCH")
	default:
		return nil
	}
	content := omap{}
	for _, media := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"} {
		content = content.with(media, omap{{"schema", schema}})
	}
	return omap{{"content", content}}
}

func ref(kind, name string) omap { return omap{{"$ref", "#/components/" + kind + "/" + name}} }

func securitySchemes() omap {
	return omap{
		{"tokenAuth", omap{{"type", "apiKey"}, {"in", "header"}, {"name", "Authorization"}, {"description", "An account token: `Token <key>`."}}},
		{"masterApiKey", omap{{"type", "apiKey"}, {"in", "header"}, {"name", "Authorization"}, {"description", "An organisation key: `Api-Key <key>`."}}},
		{"environmentKey", omap{{"type", "apiKey"}, {"in", "header"}, {"name", "X-Environment-Key"}, {"description", "An environment's client-side or server-side key."}}},
	}
}

func security(a Auth) []omap {
	scheme := func(name string) omap { return omap{{name, []string{}}} }
	switch a {
	case Admin:
		return []omap{scheme("tokenAuth"), scheme("masterApiKey")}
	case User, Superuser:
		return []omap{scheme("tokenAuth")}
	case EnvironmentKey, ServerKey:
		return []omap{scheme("environmentKey")}
	}
	return nil
}
