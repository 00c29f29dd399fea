package identity

import (
	"bytes"
	"sync/atomic"
)

const (
	maxLeaf   = 256 // slots
	maxBranch = 256 // leaves
	bulkLeaf  = 192 // slots of a leaf built by load
)

// ordered is a B-tree of three levels over slots, sorted by a key of their records, then by slot. Leaves are replaced,
// never changed, so they have no slack: 4.4 bytes an entry. Readers walk it while the writer works; a key is read from
// the record, an entry whose record is gone is skipped.
type ordered struct {
	root atomic.Pointer[[]*branch] // replaced when a branch is
	key  func(body []byte) []byte
}

type branch struct {
	leaves []atomic.Pointer[leaf]
}

type leaf struct{ slots []uint32 }

func newOrdered(key func([]byte) []byte) *ordered {
	o := &ordered{key: key}
	o.load(nil)
	return o
}

// load replaces the content by slots, which are sorted.
func (o *ordered) load(slots []uint32) {
	var leaves []*leaf
	for len(slots) > 0 {
		n := min(bulkLeaf, len(slots))
		leaves = append(leaves, &leaf{append(make([]uint32, 0, n), slots[:n]...)})
		slots = slots[n:]
	}
	if leaves == nil {
		leaves = []*leaf{{}}
	}
	var root []*branch
	for len(leaves) > 0 {
		n := min(maxBranch*3/4, len(leaves))
		root = append(root, newBranch(leaves[:n]))
		leaves = leaves[n:]
	}
	o.root.Store(&root)
}

func newBranch(leaves []*leaf) *branch {
	b := &branch{leaves: make([]atomic.Pointer[leaf], len(leaves))}
	for i, l := range leaves {
		b.leaves[i].Store(l)
	}
	return b
}

func (b *branch) all() []*leaf {
	leaves := make([]*leaf, len(b.leaves), len(b.leaves)+1)
	for i := range b.leaves {
		leaves[i] = b.leaves[i].Load()
	}
	return leaves
}

// before reports whether the entry at slot sorts before (key, at).
func (o *ordered) before(body []byte, slot uint32, key []byte, at uint32) bool {
	c := bytes.Compare(o.key(body), key)
	return c < 0 || c == 0 && slot < at
}

// startsBefore reports whether the first entry of l that has a record sorts before or at (key, at).
func (o *ordered) startsBefore(segs *segments, l *leaf, key []byte, at uint32) bool {
	for _, slot := range l.slots {
		if body := segs.body(slot); body != nil {
			c := bytes.Compare(o.key(body), key)
			return c < 0 || c == 0 && slot <= at
		}
	}
	return true
}

// place is a position: entry i of leaf l of branch b.
type place struct{ b, l, i int }

// seek finds the first entry that does not sort before (key, at); its i may be the length of the leaf.
func (o *ordered) seek(root []*branch, segs *segments, key []byte, at uint32) (p place) {
	p.b = lastTrue(len(root), func(i int) bool {
		return o.startsBefore(segs, root[i].leaves[0].Load(), key, at)
	})
	leaves := root[p.b].leaves
	p.l = lastTrue(len(leaves), func(i int) bool {
		return o.startsBefore(segs, leaves[i].Load(), key, at)
	})
	p.i = o.lowerBound(segs, leaves[p.l].Load().slots, key, at)
	return p
}

// lastTrue finds the last i in [0, n) for which is holds, given that it holds up to some i only; 0 when for none.
func lastTrue(n int, is func(int) bool) int {
	lo, hi := 1, n
	for lo < hi {
		mid := (lo + hi) >> 1
		if is(mid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func (o *ordered) lowerBound(segs *segments, slots []uint32, key []byte, at uint32) int {
	lo, hi := 0, len(slots)
	for lo < hi {
		mid := (lo + hi) >> 1
		i, body := mid, []byte(nil)
		for ; i < hi; i++ {
			if body = segs.body(slots[i]); body != nil {
				break
			}
		}
		switch {
		case body == nil:
			hi = mid
		case o.before(body, slots[i], key, at):
			lo = i + 1
		default:
			hi = mid
		}
	}
	return lo
}

// insert adds slot, whose record is stored already.
func (o *ordered) insert(segs *segments, slot uint32) {
	root := *o.root.Load()
	p := o.seek(root, segs, o.key(segs.body(slot)), slot)
	slots := root[p.b].leaves[p.l].Load().slots
	grown := make([]uint32, len(slots)+1)
	copy(grown, slots[:p.i])
	grown[p.i] = slot
	copy(grown[p.i+1:], slots[p.i:])
	if len(grown) <= maxLeaf {
		root[p.b].leaves[p.l].Store(&leaf{grown})
		return
	}
	cut := len(grown) / 2
	if p.i == len(slots) {
		cut = p.i // keys that come in order leave full leaves behind
	}
	o.replace(root, p.b, p.l, &leaf{append([]uint32(nil), grown[:cut]...)}, &leaf{append([]uint32(nil), grown[cut:]...)})
}

// remove deletes slot, whose record is still stored with the key it was inserted under.
func (o *ordered) remove(segs *segments, slot uint32) {
	root := *o.root.Load()
	p := o.seek(root, segs, o.key(segs.body(slot)), slot)
	slots := root[p.b].leaves[p.l].Load().slots
	if p.i == len(slots) || slots[p.i] != slot {
		return
	}
	if len(slots) == 1 {
		o.replace(root, p.b, p.l)
		return
	}
	shrunk := make([]uint32, len(slots)-1)
	copy(shrunk, slots[:p.i])
	copy(shrunk[p.i:], slots[p.i+1:])
	root[p.b].leaves[p.l].Store(&leaf{shrunk})
}

// replace publishes a root in which leaf l of branch b is replaced by none or two.
func (o *ordered) replace(root []*branch, b, l int, by ...*leaf) {
	leaves := root[b].all()
	rest := append(by[:len(by):len(by)], leaves[l+1:]...)
	leaves = append(leaves[:l:l], rest...)
	var branches []*branch
	switch {
	case len(leaves) > maxBranch:
		cut := len(leaves) / 2
		if l >= len(leaves)-2 {
			cut = len(leaves) - 1
		}
		branches = []*branch{newBranch(leaves[:cut]), newBranch(leaves[cut:])}
	case len(leaves) > 0:
		branches = []*branch{newBranch(leaves)}
	case len(root) == 1:
		branches = []*branch{newBranch([]*leaf{{}})}
	}
	fresh := make([]*branch, 0, len(root)+1)
	fresh = append(fresh, root[:b]...)
	fresh = append(fresh, branches...)
	fresh = append(fresh, root[b+1:]...)
	o.root.Store(&fresh)
}

// ascend calls yield with the entries from (key, at) on, in order, until it returns false.
func (o *ordered) ascend(segs *segments, key []byte, at uint32, yield func(slot uint32, body []byte) bool) {
	root := *o.root.Load()
	p := o.seek(root, segs, key, at)
	for ; p.b < len(root); p.b, p.l = p.b+1, 0 {
		for leaves := root[p.b].leaves; p.l < len(leaves); p.l, p.i = p.l+1, 0 {
			slots := leaves[p.l].Load().slots
			for _, slot := range slots[min(p.i, len(slots)):] {
				if body := segs.body(slot); body != nil && !yield(slot, body) {
					return
				}
			}
		}
	}
}
