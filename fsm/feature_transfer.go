package fsm

import "time"

// transferTime is how long exports and imports of features are kept.
const transferTime = 14 * 24 * time.Hour

// FeatureExport is a file with the features of an environment, as of its
// creation.
type FeatureExport struct {
	ID          uint64 `cbor:"1,keyasint"`
	Environment uint64 `cbor:"2,keyasint"`
	CreatedAt   Time   `cbor:"3,keyasint"`
	Data        []byte `cbor:"4,keyasint"` // JSON
}

// FeatureExports is the table of exports.
var (
	FeatureExports              = newTable[FeatureExport](55, "FeatureExport", func(e *FeatureExport) *uint64 { return &e.ID }, nil).since(3)
	FeatureExportsByEnvironment = FeatureExports.index("environment", func(e *FeatureExport, k Key) (Key, bool) { return k.Uint(e.Environment), true })
)

// FeatureImport notes that features were read into an environment.
type FeatureImport struct {
	ID          uint64 `cbor:"1,keyasint"`
	Environment uint64 `cbor:"2,keyasint"`
	Strategy    string `cbor:"3,keyasint"` // SKIP, OVERWRITE_DESTRUCTIVE
	CreatedAt   Time   `cbor:"4,keyasint"`
}

// FeatureImports is the table of imports.
var (
	FeatureImports              = newTable[FeatureImport](56, "FeatureImport", func(i *FeatureImport) *uint64 { return &i.ID }, nil).since(3)
	FeatureImportsByEnvironment = FeatureImports.index("environment", func(i *FeatureImport, k Key) (Key, bool) { return k.Uint(i.Environment), true })
)

// oldTransfers removes exports and imports whose time is over.
func (s *Scheduler) oldTransfers(r Reader, now Time) func(*Tx) {
	var exports, imports []uint64
	for e := range FeatureExports.Refs(r) { // ids grow with time
		if e.CreatedAt.Add(transferTime) > now || len(exports) == sweepBatch {
			break
		}
		exports = append(exports, e.ID)
	}
	for i := range FeatureImports.Refs(r) {
		if i.CreatedAt.Add(transferTime) > now || len(imports) == sweepBatch {
			break
		}
		imports = append(imports, i.ID)
	}
	if len(exports)+len(imports) == 0 {
		return nil
	}
	return func(tx *Tx) {
		for _, id := range exports {
			FeatureExports.Delete(tx, id)
		}
		for _, id := range imports {
			FeatureImports.Delete(tx, id)
		}
	}
}
