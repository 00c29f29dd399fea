package sdk

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// storedKeys is what the answers of one View need to know of the trait keys of
// stored identities, by the number a key has in their store. It only ever grows
// by being made anew.
type storedKeys struct {
	view  *fsm.View
	store *identity.Store // whose numbers they are: a restore brings another one
	keys  []storedKey
}

// storedKey is a trait key; one that was deleted is all zero.
type storedKey struct {
	json string // {"trait_key":"...","trait_value":
	slot int32  // in the View's engine
	long bool   // longer than a request may give it
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
	have = &storedKeys{view: v, store: store, keys: make([]storedKey, store.KeyCount())}
	for id := range have.keys {
		if name := store.KeyName(uint32(id)); name != "" {
			json := append(route.AppendString([]byte(traitStart), name), traitMiddle...)
			have.keys[id] = storedKey{string(json), v.Engine.TraitSlot(name), len(name) > maxTraitKey}
		}
	}
	at.Store(have)
	return have
}

// key is the key with a number; nil: it was deleted meanwhile.
func (k *storedKeys) key(id uint32) *storedKey {
	if int(id) >= len(k.keys) { // it is newer than k
		k = keysOf(k.view, k.store, int(id)+1)
	}
	if found := &k.keys[id]; found.json != "" {
		return found
	}
	return nil
}
