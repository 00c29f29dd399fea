package identity

// Caps are the bounds that an installation sets on its identities. They are judged by the leader before an operation is proposed, so nodes
// with other settings still agree on the state; Apply knows [Limits] alone. Zero: none but that.
type Caps struct {
	// Identities of one environment.
	Identities int
	// TraitBytes of one identity, counted as in Limits.
	TraitBytes int
	// TraitKeys are the distinct trait keys of one environment. Their names are kept in memory once for all identities, and key numbers are
	// never used again: eight times as many may have been used since the store was restored.
	TraitKeys int
}

const (
	// keyTurnover is how many times TraitKeys keys may come and go.
	keyTurnover = 8
	// proposalOps is more than one proposal can hold: farther away from the cap identities need not be counted.
	proposalOps = 200_000
)

// Guard judges the operations of one proposal, in order, on the state before it and on what it admitted itself. It belongs to one goroutine.
type Guard struct {
	caps   Caps
	stores *Stores
	named  map[uint64]*guarded
}

// guarded is what a Guard found out of one environment.
type guarded struct {
	created map[string]struct{} // identifiers that are new
	keys    map[string]struct{} // in use, and new
	fresh   int                 // of keys, new
}

// NewGuard starts to judge a proposal.
func NewGuard(s *Stores, c Caps) *Guard { return &Guard{caps: c, stores: s} }

// Admit returns StatusOK, or why the operation may not be proposed.
func (g *Guard) Admit(op *Op) Status {
	st := g.stores.Environment(op.Environment)
	if g.caps.TraitBytes > 0 && g.caps.TraitBytes < DefaultLimits().TraitBytes && g.traitBytes(st, op) > g.caps.TraitBytes {
		return StatusOverTraits
	}
	if g.caps.TraitKeys > 0 && !g.mayName(st, op) {
		return StatusOverKeys
	}
	if g.caps.Identities > 0 && st.Count()+proposalOps >= g.caps.Identities && !g.mayCreate(st, op) {
		return StatusOverIdentities
	}
	return StatusOK
}

func (g *Guard) environment(id uint64) *guarded {
	if g.named == nil {
		g.named = map[uint64]*guarded{}
	}
	e := g.named[id]
	if e == nil {
		e = &guarded{created: map[string]struct{}{}}
		g.named[id] = e
	}
	return e
}

// mayCreate reports whether the operation creates no identity, or there is room for it.
func (g *Guard) mayCreate(st *Store, op *Op) bool {
	if !op.creates() {
		return true
	}
	if _, known := st.Lookup(op.Identifier); known {
		return true
	}
	e := g.environment(op.Environment)
	if _, known := e.created[string(op.Identifier)]; known {
		return true
	}
	if st.Count()+len(e.created) >= g.caps.Identities {
		return false
	}
	e.created[string(op.Identifier)] = struct{}{}
	return true
}

// mayName reports whether the environment has room for the keys that the operation brings.
func (g *Guard) mayName(st *Store, op *Op) bool {
	e := g.environment(op.Environment)
	if e.keys == nil {
		e.keys = st.keysInUse()
	}
	var fresh []string
	add := func(key, value []byte) {
		if _, known := e.keys[string(key)]; !known && len(key) > 0 && !deletes(value) {
			e.keys[string(key)] = struct{}{}
			fresh = append(fresh, string(key))
		}
	}
	for _, t := range op.Traits {
		add(t.Key, t.Value)
	}
	switch op.Kind {
	case KindSetTrait:
		add(op.Key, op.Value)
	case KindIncrement:
		add(op.Key, []byte{'0'})
	}
	if len(fresh) == 0 {
		return true
	}
	if len(e.keys) > g.caps.TraitKeys || st.KeyCount()+e.fresh+len(fresh) > keyTurnover*g.caps.TraitKeys {
		for _, k := range fresh {
			delete(e.keys, k)
		}
		return false
	}
	e.fresh += len(fresh)
	return true
}

// traitBytes is what the identity's traits would take after the operation.
func (g *Guard) traitBytes(st *Store, op *Op) int {
	if len(op.Traits) == 0 && op.Kind != KindSetTrait && op.Kind != KindIncrement {
		return 0
	}
	sizes := map[string]int{}
	var rec Record
	known := false
	if op.Identity != 0 {
		rec, known = st.ByID(op.Identity)
	} else {
		rec, known = st.Lookup(op.Identifier)
	}
	renamed := ""
	if known {
		for it := rec.Traits(); it.Next(); {
			sizes[it.Key()] = len(it.Key()) + len(it.Value())
			if op.TraitID != 0 && it.ID() == op.TraitID {
				renamed = it.Key()
			}
		}
	}
	set := func(key string, value []byte) {
		if deletes(value) {
			delete(sizes, key)
			return
		}
		sizes[key] = len(key) + len(value)
	}
	for _, t := range op.Traits {
		set(string(t.Key), t.Value)
	}
	switch {
	case op.Kind == KindSetTrait && renamed != "":
		delete(sizes, renamed)
		if len(op.Key) > 0 {
			renamed = string(op.Key)
		}
		set(renamed, op.Value)
	case op.Kind == KindSetTrait:
		set(string(op.Key), op.Value)
	case op.Kind == KindIncrement:
		const digits = 20
		set(string(op.Key), make([]byte, digits))
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	return total
}
