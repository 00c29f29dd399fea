package sdk

import (
	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// storedKeys is what the answers of one View need to know of the trait keys of
// stored identities, by the number a key has in their store. It only ever grows
// by being made anew.
type storedKeys struct {
	store *identity.Store // whose numbers they are: a restore brings another one
	keys  []storedKey
}

// storedKey is a trait key. A deleted one has no json.
type storedKey struct {
	json string // {"trait_key":"...","trait_value":
	slot int32  // in the View's engine
}

const (
	traitStart  = `{"trait_key":`
	traitMiddle = `,"trait_value":`
)

// keysOf returns the keys of a View's stored identities, n at least.
func keysOf(v *fsm.View, store *identity.Store, n int) *storedKeys {
	at := v.Prepared(keysSlot)
	have, ok := at.Load().(*storedKeys)
	if ok && have.store == store && len(have.keys) >= n {
		return have
	}
	have = &storedKeys{store: store, keys: make([]storedKey, store.KeyCount())}
	for id := range have.keys {
		k := &have.keys[id]
		k.slot = eval.NoSlot
		if name := store.KeyName(uint32(id)); name != "" {
			k.json = string(append(route.AppendString([]byte(traitStart), name), traitMiddle...))
			k.slot = v.Engine.TraitSlot(name)
		}
	}
	at.Store(have)
	return have
}
