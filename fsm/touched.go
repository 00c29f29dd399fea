package fsm

import "slices"

// Touched is the set of environments whose Views a write concerns. Applying,
// waiting for a View and realtime all ask this one function of the rows.
type Touched struct {
	environments []uint64
	keys         bool // of environments changed: the directory of keys is made anew
}

// Add names one environment.
func (t *Touched) Add(environment uint64) {
	if i, found := slices.BinarySearch(t.environments, environment); !found {
		t.environments = slices.Insert(t.environments, i, environment)
	}
}

// Environments returns the ids, ascending.
func (t *Touched) Environments() []uint64 { return t.environments }

func (t *Touched) project(r Reader, project uint64) {
	for e := range EnvironmentsByProject.Refs(r, project) {
		t.Add(e.ID)
	}
}

func (t *Touched) merge(o *Touched) {
	for _, e := range o.environments {
		t.Add(e)
	}
	t.keys = t.keys || o.keys
}
