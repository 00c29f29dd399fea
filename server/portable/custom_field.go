package portable

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/flagraft/flagraft/fsm"
)

// Kinds of objects that have custom fields, in a document and in the state.
const (
	kindEnvironment = "environment"
	kindFeature     = "feature"
	kindSegment     = "segment"
)

var contentTypes = map[string]fsm.ContentType{kindEnvironment: fsm.ContentEnvironment, kindFeature: fsm.ContentFeature, kindSegment: fsm.ContentSegment}

// Bounds of the admin API.
const (
	maxFieldName  = 255
	maxFieldValue = 2000
)

// customFields lists the fields that objects of a project have.
func (x *exporter) customFields(p fsm.Project) (out []CustomField) {
	x.fields = map[uint64]int{}
	inOrganisation := fsm.MetadataRequirement{ContentType: fsm.ContentOrganisation, Object: p.Organisation}
	inProject := fsm.MetadataRequirement{ContentType: fsm.ContentProject, Object: p.ID}
	for f := range fsm.MetadataFieldsByOrganisation.All(x.s, p.Organisation) {
		if f.Project != 0 && f.Project != p.ID {
			continue
		}
		field := CustomField{Number: len(out) + 1, Organisation: f.Project == 0, Name: f.Name, Type: f.Type, Description: f.Description, Kinds: []FieldKind{}}
		for m := range fsm.MetadataModelFieldsByField.All(x.s, f.ID) {
			for kind, content := range contentTypes {
				if content == m.ContentType {
					field.Kinds = append(field.Kinds, FieldKind{Kind: kind, Organisation: slices.Contains(m.RequiredFor, inOrganisation),
						Project: slices.Contains(m.RequiredFor, inProject)})
					x.fields[m.ID] = field.Number
				}
			}
		}
		out = append(out, field)
	}
	return out
}

// fieldValues lists what an object has in custom fields.
func (x *exporter) fieldValues(kind fsm.ContentType, object uint64) (out []FieldValue) {
	for v := range fsm.MetadataByObject.Refs(x.s, kind, object) {
		if number := x.fields[v.ModelField]; number != 0 {
			out = append(out, FieldValue{Field: number, Value: v.Value})
		}
	}
	return out
}

func (c *checker) customFields() error {
	type name struct {
		name         string
		organisation bool
	}
	names := map[name]bool{}
	for i, f := range c.p.CustomFields {
		switch n := (name{f.Name, f.Organisation}); {
		case f.Number != i+1 || f.Name == "" || utf8.RuneCountInString(f.Name) > maxFieldName:
			return c.bad("custom field %d must have number %d and a name of at most %d characters", f.Number, i+1, maxFieldName)
		case !slices.Contains([]string{"int", "str", "bool", "url", "multiline_str"}, f.Type):
			return c.bad("custom field %q has the unknown type %q", f.Name, f.Type)
		case names[n]:
			return c.bad("two custom fields are called %q", f.Name)
		default:
			names[n] = true
		}
		kinds := map[string]bool{}
		for _, k := range f.Kinds {
			if contentTypes[k.Kind] == 0 || kinds[k.Kind] {
				return c.bad("custom field %q is of the kind %q, which is unknown or there twice", f.Name, k.Kind)
			}
			kinds[k.Kind] = true
		}
	}
	return nil
}

// fieldValues looks at the custom fields of one object. Values need not be of the field's type: it may have been changed since.
func (c *checker) fieldValues(kind, name string, list []FieldValue) error {
	seen := map[int]bool{}
	for _, v := range list {
		if v.Field < 1 || v.Field > len(c.p.CustomFields) || seen[v.Field] ||
			!slices.ContainsFunc(c.p.CustomFields[v.Field-1].Kinds, func(k FieldKind) bool { return k.Kind == kind }) {
			return c.bad("%s %q has a value of custom field %d, which such objects do not have, or has it twice", kind, name, v.Field)
		}
		if utf8.RuneCountInString(v.Value) > maxFieldValue {
			return c.bad("%s %q has a value of more than %d characters in a custom field", kind, name, maxFieldValue)
		}
		seen[v.Field] = true
	}
	return nil
}

// customFields makes the project's fields and finds or makes those of the organisation. What its fields demand of all projects is not changed.
func (m *importer) customFields() error {
	for _, f := range m.p.CustomFields {
		row := fsm.MetadataField{Organisation: m.org, Name: f.Name, Type: f.Type, Description: f.Description}
		if !f.Organisation {
			row.Project = m.project
		}
		for have := range fsm.MetadataFieldsByOrganisation.Refs(m.tx, m.org) {
			if have.Name == row.Name && have.Project == row.Project {
				row = *have
			}
		}
		if row.Type != f.Type {
			return &Invalid{fmt.Sprintf("project %q", m.p.Name), fmt.Sprintf("the organisation's custom field %q is of type %s, not %s", f.Name, row.Type, f.Type)}
		}
		if row.ID == 0 {
			row = fsm.MetadataFields.Put(m.tx, row)
		}
		m.fields = append(m.fields, m.modelFields(row.ID, f.Kinds))
	}
	return nil
}

// modelFields gives a field to kinds of objects, unless they have it.
func (m *importer) modelFields(field uint64, kinds []FieldKind) map[fsm.ContentType]uint64 {
	out := map[fsm.ContentType]uint64{}
	for _, k := range kinds {
		row := fsm.MetadataModelField{Organisation: m.org, Field: field, ContentType: contentTypes[k.Kind]}
		if k.Organisation {
			row.RequiredFor = []fsm.MetadataRequirement{{ContentType: fsm.ContentOrganisation, Object: m.org}}
		}
		for have := range fsm.MetadataModelFieldsByField.Refs(m.tx, field) {
			if have.ContentType == row.ContentType {
				row = *have
			}
		}
		if k.Project {
			row.RequiredFor = append(slices.Clone(row.RequiredFor), fsm.MetadataRequirement{ContentType: fsm.ContentProject, Object: m.project})
		}
		if row.ID == 0 || k.Project {
			row = fsm.MetadataModelFields.Put(m.tx, row)
		}
		out[row.ContentType] = row.ID
	}
	return out
}

func (m *importer) fieldValues(kind fsm.ContentType, object uint64, list []FieldValue) {
	for _, v := range list {
		fsm.MetadataValues.Put(m.tx, fsm.Metadata{ModelField: m.fields[v.Field-1][kind], ContentType: kind, Object: object, Value: v.Value})
	}
}
