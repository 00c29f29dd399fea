package fsm

// CodeRepository is what the newest scan of a repository found of a project's
// features. Of earlier scans only is kept when they last found a feature.
type CodeRepository struct {
	ID         uint64          `cbor:"1,keyasint"`
	Project    uint64          `cbor:"2,keyasint"`
	URL        string          `cbor:"3,keyasint"`
	Provider   string          `cbor:"4,keyasint"` // github
	Revision   string          `cbor:"5,keyasint"`
	ScannedAt  Time            `cbor:"6,keyasint"`
	References []CodeReference `cbor:"7,keyasint,omitempty"`
	Earlier    []CodeSighting  `cbor:"8,keyasint,omitempty"` // features that the newest scan did not find
}

// CodeReference is a place that names a feature.
type CodeReference struct {
	Feature string `cbor:"1,keyasint"`
	Path    string `cbor:"2,keyasint"`
	Line    int64  `cbor:"3,keyasint"`
}

// CodeSighting is when a feature was last found.
type CodeSighting struct {
	Feature string `cbor:"1,keyasint"`
	At      Time   `cbor:"2,keyasint"`
}

// CodeRepositories is the table of scanned repositories.
// CodeRepositoriesByProject keys are (project, URL).
var (
	CodeRepositories          = newTable[CodeRepository](54, "CodeRepository", func(c *CodeRepository) *uint64 { return &c.ID }, nil).since(3)
	CodeRepositoriesByProject = CodeRepositories.index("project", func(c *CodeRepository, k Key) (Key, bool) { return k.Uint(c.Project).String(c.URL), true })
)
