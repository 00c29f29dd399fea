package identity

import (
	"slices"
	"sync/atomic"
)

// traitKey is one interned trait key. The name is empty once the key was deleted from the environment.
type traitKey struct {
	name string
	sum  Sum
	// refs counts the traits with this key; the writer's, read by any goroutine.
	refs *atomic.Int64
	dead bool
}

// keyTable is what readers see of an environment's trait keys: append-only, entry i is the key with number i. A key
// number is never used again, so a record read before a deletion renders right or not at all.
type keyTable struct {
	keys []traitKey
	dead int
}

// keyring is the writer's side of the key table.
type keyring struct {
	ids  map[string]uint32
	keys []traitKey
	sums []Sum // of the hashes of all traits with a key, so that it is dropped in constant time
	dead int
}

func newKeyring() keyring { return keyring{ids: map[string]uint32{}} }

// intern returns the number of name, given in log order. It becomes visible to readers with the next table().
func (k *keyring) intern(name []byte) uint32 {
	if id, ok := k.ids[string(name)]; ok {
		return id
	}
	id, s := uint32(len(k.keys)), string(name)
	k.keys = append(k.keys, traitKey{name: s, sum: keySum(s), refs: new(atomic.Int64)})
	k.sums = append(k.sums, Sum{})
	k.ids[s] = id
	return id
}

// rollback forgets the keys interned since there were n: their operation stored nothing.
func (k *keyring) rollback(n int) {
	for _, e := range k.keys[n:] {
		delete(k.ids, e.name)
	}
	k.keys, k.sums = k.keys[:n], k.sums[:n]
}

// kill marks a key as deleted; readers hold the old slice, so it is copied.
func (k *keyring) kill(id uint32) {
	keys := make([]traitKey, len(k.keys), cap(k.keys))
	copy(keys, k.keys)
	delete(k.ids, keys[id].name)
	keys[id] = traitKey{dead: true}
	k.keys, k.sums[id] = keys, Sum{}
	k.dead++
}

func (k *keyring) table() *keyTable {
	return &keyTable{keys: k.keys[:len(k.keys):len(k.keys)], dead: k.dead}
}

// used returns the names of the keys that some trait has, sorted.
func (t *keyTable) used() []string {
	var names []string
	for i := range t.keys {
		if k := &t.keys[i]; !k.dead && k.refs.Load() > 0 {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}
