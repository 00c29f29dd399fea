package admin

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// metadata is the value of a custom field on an object, as the object shows it.
type metadata struct {
	ID         uint64 `json:"id"`
	ModelField uint64 `json:"model_field"`
	FieldValue string `json:"field_value"`
}

// metadataInput is one as it is sent with the object.
type metadataInput struct {
	ModelField uint64 `json:"model_field" v:"required,pk"`
	FieldValue string `json:"field_value" v:"required"`
}

// metadataList is what is sent of an object's custom fields. Left out of an update they stay, and nothing is demanded.
type metadataList = route.Optional[[]metadataInput]

const maxFieldValue = 2000

// metadataOf lists the custom fields of an object.
func metadataOf(r fsm.Reader, kind fsm.ContentType, object uint64) []metadata {
	return mapped(fsm.MetadataByObject.List(r, kind, object), func(m fsm.Metadata) metadata {
		return metadata{ID: m.ID, ModelField: m.ModelField, FieldValue: m.Value}
	})
}

// metadataFault is checkMetadata for objects that report nothing else along with it.
func (c *Ctx) metadataFault(kind fsm.ContentType, sent metadataList, created bool) error {
	errs := &route.Errors{}
	c.checkMetadata(kind, sent, created, errs)
	return errs.Err()
}

// checkMetadata collects what is wrong with the custom fields sent for an object of c.Project.
func (c *Ctx) checkMetadata(kind fsm.ContentType, sent metadataList, created bool, errs *route.Errors) {
	if !sent.Set && !created {
		return
	}
	at := errs.At("metadata")
	seen := map[uint64]bool{}
	for i, in := range sent.Value {
		item := at.Item(i)
		field, ok := c.fieldOf(kind, in.ModelField)
		switch {
		case !ok:
			item.Add("model_field", route.InvalidPKText(in.ModelField))
		case seen[in.ModelField]:
			item.NonField("The field " + field.Name + " is given twice")
		case !fieldTakes(field.Type, in.FieldValue):
			item.NonField("Invalid value for field " + field.Name)
		}
		seen[in.ModelField] = true
	}
	if !at.Empty() {
		return
	}
	for m := range fsm.MetadataModelFieldsByOrganisation.Refs(c, c.Project.Organisation, kind) {
		if field, ok := c.fieldOf(kind, m.ID); ok && !seen[m.ID] && c.demands(m) {
			errs.Add("metadata", "Missing required metadata field: "+field.Name)
			return
		}
	}
}

// fieldOf gets the custom field that a model field gives to objects of a kind in c.Project.
func (c *Ctx) fieldOf(kind fsm.ContentType, modelField uint64) (field fsm.MetadataField, ok bool) {
	m := fsm.MetadataModelFields.Ref(c, modelField)
	if m == nil || m.ContentType != kind || m.Organisation != c.Project.Organisation {
		return field, false
	}
	field, ok = fsm.MetadataFields.Get(c, m.Field)
	return field, ok && (field.Project == 0 || field.Project == c.Project.ID)
}

// demands reports whether objects of c.Project must have the field.
func (c *Ctx) demands(m *fsm.MetadataModelField) bool {
	return slices.Contains(m.RequiredFor, fsm.MetadataRequirement{ContentType: fsm.ContentProject, Object: c.Project.ID}) ||
		slices.Contains(m.RequiredFor, fsm.MetadataRequirement{ContentType: fsm.ContentOrganisation, Object: c.Project.Organisation})
}

var pythonInteger = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)

// fieldTakes reports whether a text is a value of a field of that type.
func fieldTakes(kind, value string) bool {
	if utf8.RuneCountInString(value) > maxFieldValue {
		return false
	}
	switch kind {
	case "int":
		return pythonInteger.MatchString(value)
	case "bool":
		return strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
	case "url":
		scheme, rest, ok := strings.Cut(value, "://")
		return ok && scheme != "" && rest != "" && route.ValidURL("http://"+rest)
	}
	return true
}

// putMetadata makes the custom fields of an object those that were sent; a field keeps its id.
func (c *Ctx) putMetadata(kind fsm.ContentType, object uint64, sent metadataList) {
	if !sent.Set {
		return
	}
	have := fsm.MetadataByObject.List(c, kind, object)
	for _, m := range have {
		if !slices.ContainsFunc(sent.Value, func(in metadataInput) bool { return in.ModelField == m.ModelField }) {
			fsm.MetadataValues.Delete(c.Tx, m.ID)
		}
	}
	for _, in := range sent.Value {
		m := fsm.Metadata{ModelField: in.ModelField, ContentType: kind, Object: object}
		if i := slices.IndexFunc(have, func(m fsm.Metadata) bool { return m.ModelField == in.ModelField }); i >= 0 {
			m = have[i]
		}
		if m.Value != in.FieldValue {
			m.Value = in.FieldValue
			fsm.MetadataValues.Put(c.Tx, m)
		}
	}
}

// copyMetadata gives an object the custom fields of another one of its kind.
func (c *Ctx) copyMetadata(kind fsm.ContentType, from, to uint64) {
	for _, m := range fsm.MetadataByObject.List(c, kind, from) {
		m.ID, m.Object = 0, to
		fsm.MetadataValues.Put(c.Tx, m)
	}
}
