package fsm

// ContentType numbers the models that custom fields speak of, as Flagsmith's API
// shows them.
type ContentType uint64

// The content types. Environments, features and segments have custom fields;
// organisations and projects may demand them.
const (
	ContentOrganisation ContentType = 27
	ContentProject      ContentType = 43
	ContentEnvironment  ContentType = 46
	ContentFeature      ContentType = 55
	ContentSegment      ContentType = 89
)

// MetadataField is a custom field of an organisation, or of one of its projects.
type MetadataField struct {
	ID           uint64  `cbor:"1,keyasint"`
	Organisation uint64  `cbor:"2,keyasint"`
	Project      uint64  `cbor:"3,keyasint,omitempty"` // 0: of all projects
	Name         string  `cbor:"4,keyasint"`
	Type         string  `cbor:"5,keyasint"` // int, str, bool, url, multiline_str
	Description  *string `cbor:"6,keyasint,omitempty"`
}

// MetadataFields is the table of custom fields.
var (
	MetadataFields               = newTable[MetadataField](49, "MetadataField", func(f *MetadataField) *uint64 { return &f.ID }, nil).since(3)
	MetadataFieldsByOrganisation = MetadataFields.index("organisation", func(f *MetadataField, k Key) (Key, bool) { return k.Uint(f.Organisation), true })
	MetadataFieldsByProject      = MetadataFields.index("project", func(f *MetadataField, k Key) (Key, bool) { return k.Uint(f.Project), f.Project != 0 })
)

// MetadataModelField gives a custom field to a content type.
type MetadataModelField struct {
	ID           uint64                `cbor:"1,keyasint"`
	Organisation uint64                `cbor:"2,keyasint"`
	Field        uint64                `cbor:"3,keyasint"`
	ContentType  ContentType           `cbor:"4,keyasint"`
	RequiredFor  []MetadataRequirement `cbor:"5,keyasint,omitempty"`
}

// MetadataRequirement is an organisation or a project in which the field must be
// filled in.
type MetadataRequirement struct {
	ContentType ContentType `cbor:"1,keyasint"`
	Object      uint64      `cbor:"2,keyasint"`
}

// MetadataModelFields is the table of fields of content types.
// MetadataModelFieldsByOrganisation keys are (organisation, content type).
var (
	MetadataModelFields = newTable[MetadataModelField](50, "MetadataModelField",
		func(f *MetadataModelField) *uint64 { return &f.ID }, nil).since(3)
	MetadataModelFieldsByOrganisation = MetadataModelFields.index("organisation", func(f *MetadataModelField, k Key) (Key, bool) {
		return k.Uint(f.Organisation).Uint(uint64(f.ContentType)), true
	})
	MetadataModelFieldsByField = MetadataModelFields.index("field", func(f *MetadataModelField, k Key) (Key, bool) { return k.Uint(f.Field), true })
)

// Metadata is the value of a custom field on one object.
type Metadata struct {
	ID          uint64      `cbor:"1,keyasint"`
	ModelField  uint64      `cbor:"2,keyasint"`
	ContentType ContentType `cbor:"3,keyasint"`
	Object      uint64      `cbor:"4,keyasint"`
	Value       string      `cbor:"5,keyasint"`
}

// MetadataValues is the table of values of custom fields.
// MetadataByObject keys are (content type, object).
var (
	MetadataValues   = newTable[Metadata](51, "Metadata", func(m *Metadata) *uint64 { return &m.ID }, nil).since(3)
	MetadataByObject = MetadataValues.index("object", func(m *Metadata, k Key) (Key, bool) {
		return k.Uint(uint64(m.ContentType)).Uint(m.Object), true
	})
	MetadataByModelField = MetadataValues.index("model_field", func(m *Metadata, k Key) (Key, bool) { return k.Uint(m.ModelField), true })
)
