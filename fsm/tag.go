package fsm

import "github.com/google/uuid"

// Tag labels features of a project.
type Tag struct {
	ID          uint64    `cbor:"1,keyasint"`
	UUID        uuid.UUID `cbor:"2,keyasint"`
	Project     uint64    `cbor:"3,keyasint"`
	Label       string    `cbor:"4,keyasint"`
	Color       string    `cbor:"5,keyasint,omitempty"`
	Description *string   `cbor:"6,keyasint,omitempty"`
	IsPermanent bool      `cbor:"7,keyasint,omitempty"`
	IsSystemTag bool      `cbor:"8,keyasint,omitempty"`
	Type        string    `cbor:"9,keyasint"` // NONE, STALE, UNHEALTHY, …
}

// Tags is the table of tags.
var (
	Tags          = newTable[Tag](12, "Tag", func(t *Tag) *uint64 { return &t.ID }, nil)
	TagsByProject = Tags.index("project", func(t *Tag, k Key) (Key, bool) { return k.Uint(t.Project), true })
	TagsByUUID    = Tags.index("uuid", func(t *Tag, k Key) (Key, bool) { return k.UUID(t.UUID), true })
)
