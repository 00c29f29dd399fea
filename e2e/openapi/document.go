package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is an object of a description.
type node = map[string]any

// Document is an OpenAPI description, JSON or YAML.
type Document struct {
	root node
}

// Parse reads a description.
func Parse(text []byte) (*Document, error) {
	d := &Document{}
	if err := yaml.Unmarshal(text, &d.root); err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	if _, ok := d.root["paths"].(node); !ok {
		return nil, fmt.Errorf("read description: it has no paths")
	}
	return d, nil
}

// operation is a method of a path.
type operation struct {
	method, path string
	node         node
}

func (o operation) id() string { s, _ := o.node["operationId"].(string); return s }

var methods = []string{"get", "post", "put", "patch", "delete"}

// operations lists all, by path and method.
func (d *Document) operations() (all []operation) {
	paths := d.root["paths"].(node)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[p].(node)
		for _, m := range methods {
			if o, ok := item[m].(node); ok {
				all = append(all, operation{m, p, o})
			}
		}
	}
	return all
}

// resolve follows references; whatever is no object is an empty one.
func (d *Document) resolve(v any) node {
	n, _ := v.(node)
	for {
		ref, ok := n["$ref"].(string)
		if !ok {
			return n
		}
		at := any(d.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			m, _ := at.(node)
			at = m[part]
		}
		n, _ = at.(node)
	}
}

// schema is what the comparison needs of a schema, references and combinations followed.
type schema struct {
	types      []string // without null; empty: anything
	properties map[string]any
	required   []string
	items      any
	readOnly   bool
	writeOnly  bool
}

// schema reads a schema.
func (d *Document) schema(v any) (s schema) {
	n := d.resolve(v)
	s.readOnly, _ = n["readOnly"].(bool)
	s.writeOnly, _ = n["writeOnly"].(bool)
	switch t := n["type"].(type) {
	case string:
		s.types = []string{t}
	case []any:
		for _, one := range t {
			s.types = append(s.types, fmt.Sprint(one))
		}
	}
	s.properties, _ = n["properties"].(node)
	for _, r := range list(n["required"]) {
		s.required = append(s.required, fmt.Sprint(r))
	}
	s.items = n["items"]
	for _, part := range list(n["allOf"]) {
		s.add(d.schema(part), true)
	}
	for _, part := range append(list(n["anyOf"]), list(n["oneOf"])...) {
		s.add(d.schema(part), false)
	}
	s.types = slices.DeleteFunc(s.types, func(t string) bool { return t == "null" })
	if len(s.types) == 0 && s.properties != nil {
		s.types = []string{"object"}
	}
	return s
}

// add merges a part of a combination; what one of several alternatives requires is not required.
func (s *schema) add(part schema, all bool) {
	for _, t := range part.types {
		if !slices.Contains(s.types, t) {
			s.types = append(s.types, t)
		}
	}
	if len(part.properties) > 0 {
		merged := maps.Clone(s.properties)
		if merged == nil {
			merged = node{}
		}
		maps.Copy(merged, part.properties)
		s.properties = merged
	}
	if all {
		s.required = append(s.required, part.required...)
	}
	if s.items == nil {
		s.items = part.items
	}
}

func list(v any) []any { l, _ := v.([]any); return l }
