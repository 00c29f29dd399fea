package identity

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"
)

const (
	maxLeaf   = 640 // slots
	maxBranch = 256 // leaves
	bulkLeaf  = 480 // slots of a leaf built by load
)

// ordered is a B-tree of three levels over slots, sorted by a key of their records, then by slot. Leaves are replaced,
// with all the late entries they have by then, so they have little slack: 8.9 bytes an entry with hints. Readers walk it while the writer works; a key is read from
// the record, an entry whose record is gone is skipped.
type ordered struct {
	root atomic.Pointer[[]*branch] // replaced when a branch is
	key  func(body []byte) []byte
}

// branch is a run of leaves with their separators: no key of leaf i sorts before separator i, all of leaf i-1 do.
type branch struct {
	leaves []atomic.Pointer[leaf]
	seps   separators
}

// separator is the first entry that its leaf had when it was made.
type separator struct {
	key  string
	slot uint32
}

// separators is a list of them in three pieces of memory: the collector should have little to follow.
type separators struct {
	text  string
	ends  []uint32
	slots []uint32
}

func pack(list []separator) (s separators) {
	size := 0
	for i := range list {
		size += len(list[i].key)
	}
	text := make([]byte, 0, size)
	s.ends, s.slots = make([]uint32, len(list)), make([]uint32, len(list))
	for i := range list {
		text = append(text, list[i].key...)
		s.ends[i], s.slots[i] = uint32(len(text)), list[i].slot
	}
	s.text = string(text)
	return s
}

func (s *separators) unpack() []separator {
	list := make([]separator, len(s.ends), len(s.ends)+1)
	for i := range list {
		list[i] = separator{s.key(i), s.slots[i]}
	}
	return list
}

func (s *separators) key(i int) string {
	if i == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[i-1]:s.ends[i]]
}

// upTo reports whether separator i sorts before or at (key, at).
func (s *separators) upTo(i int, key []byte, at uint32) bool {
	sep := s.key(i)
	if sep == string(key) {
		return s.slots[i] <= at
	}
	return sep < string(key)
}

func newOrdered(key func([]byte) []byte) *ordered {
	o := &ordered{key: key}
	o.load(nil, nil)
	return o
}

// load replaces the content by slots, which are sorted.
func (o *ordered) load(segs *segments, slots []uint32) {
	var leaves []*leaf
	var seps []separator
	for len(slots) > 0 {
		n := min(bulkLeaf, len(slots))
		leaves = append(leaves, plainLeaf(slots[:n]))
		seps = append(seps, o.separator(segs, slots[0]))
		slots = slots[n:]
	}
	if leaves == nil {
		leaves, seps = []*leaf{plainLeaf(nil)}, []separator{{}}
	}
	var root []*branch
	for len(leaves) > 0 {
		n := min(maxBranch*3/4, len(leaves))
		root = append(root, newBranch(leaves[:n], seps[:n]))
		leaves, seps = leaves[n:], seps[n:]
	}
	o.root.Store(&root)
}

func (o *ordered) separator(segs *segments, slot uint32) separator {
	return separator{string(o.key(segs.body(slot))), slot}
}

func newBranch(leaves []*leaf, seps []separator) *branch {
	b := &branch{leaves: make([]atomic.Pointer[leaf], len(leaves)), seps: pack(seps)}
	for i, l := range leaves {
		b.leaves[i].Store(l)
	}
	return b
}

func (b *branch) all() []*leaf {
	leaves := make([]*leaf, len(b.leaves))
	for i := range b.leaves {
		leaves[i] = b.leaves[i].Load()
	}
	return leaves
}

// before reports whether the entry at slot sorts before (key, at).
func (o *ordered) before(body []byte, slot uint32, key []byte, at uint32) bool {
	return entry{o.key(body), slot}.compare(entry{key, at}) < 0
}

// entry is a slot with the key of its record.
type entry struct {
	key  []byte
	slot uint32
}

func (e entry) compare(o entry) int {
	if c := bytes.Compare(e.key, o.key); c != 0 {
		return c
	}
	return cmp.Compare(e.slot, o.slot)
}

// late gives the late entries of l whose records are there, sorted.
func (o *ordered) late(segs *segments, l *leaf) (late []entry) {
	for _, slot := range l.late[:l.came.Load()] {
		if body := segs.body(slot); body != nil {
			late = append(late, entry{o.key(body), slot})
		}
	}
	slices.SortFunc(late, entry.compare)
	return late
}

// positions says before which entry of l, late ones aside, each of some entries belongs, which are sorted.
func (o *ordered) positions(segs *segments, l *leaf, some []entry) (slots []uint32, at []int) {
	slots, at = make([]uint32, len(some)), make([]int, len(some))
	least := 0 // a record that goes meanwhile must not mislead a reader
	for i, e := range some {
		least = max(least, o.lowerBound(segs, l, e.key, e.slot))
		slots[i], at[i] = e.slot, least
	}
	return slots, at
}

// entries gives all entries of l in order, and how many of them sort before from.
func (o *ordered) entries(segs *segments, l *leaf, from entry) (all []uint32, before int) {
	late := o.late(segs, l)
	if len(from.key) > 0 || from.slot > 0 {
		before = o.lowerBound(segs, l, from.key, from.slot)
	}
	if len(late) == 0 {
		return l.slots(), before
	}
	slots, at := o.positions(segs, l, late)
	all = make([]uint32, int(l.n)+len(slots))
	spread(all, l.slots(), at, func(i int) uint32 { return slots[i] })
	n, _ := slices.BinarySearchFunc(late, from, entry.compare)
	return all, before + n
}

// place is where the leaf was that has, or would have, some entry: leaf l of branch b. Another one may be there by now.
type place struct {
	b, l int
	leaf *leaf
}

// seek finds the leaf of (key, at).
func seek(root []*branch, key []byte, at uint32) (p place) {
	p.b = lastTrue(len(root), func(i int) bool { return root[i].seps.upTo(0, key, at) })
	b := root[p.b]
	p.l = lastTrue(len(b.leaves), func(i int) bool { return b.seps.upTo(i, key, at) })
	p.leaf = b.leaves[p.l].Load()
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

// insert adds slots, sorted by key and slot, whose records are stored already. Those that go into one leaf replace it once
// at most.
func (o *ordered) insert(segs *segments, slots ...uint32) {
	for len(slots) > 0 {
		root := *o.root.Load()
		p := seek(root, o.key(segs.body(slots[0])), slots[0])
		n := 1
		for n < len(slots) && !p.before(root, o.key(segs.body(slots[n])), slots[n]) {
			n++
		}
		if !p.leaf.add(slots[:n]) {
			o.merge(root, segs, p, slots[:n])
		}
		slots = slots[n:]
	}
}

// before reports whether (key, at) sorts behind all that the leaf at p may have.
func (p *place) before(root []*branch, key []byte, at uint32) bool {
	if b := root[p.b]; p.l+1 < len(b.leaves) {
		return b.seps.upTo(p.l+1, key, at)
	}
	return p.b+1 < len(root) && root[p.b+1].seps.upTo(0, key, at)
}

// merge replaces the leaf at p by one, or several, that have its late entries and more, which are sorted, in their places.
func (o *ordered) merge(root []*branch, segs *segments, p place, more []uint32) {
	some := o.late(segs, p.leaf)
	for _, slot := range more {
		some = append(some, entry{o.key(segs.body(slot)), slot})
	}
	if len(some) > len(more) {
		slices.SortFunc(some, entry.compare)
	}
	slots, at := o.positions(segs, p.leaf, some)
	old := p.leaf.slots()
	n := len(old) + len(slots)
	if n <= maxLeaf {
		root[p.b].leaves[p.l].Store(o.grow(segs, p.leaf, slots, at))
		return
	}
	all := make([]uint32, n)
	spread(all, old, at, func(i int) uint32 { return slots[i] })
	var leaves []*leaf
	for some := range slices.Chunk(all, share(n, maxLeaf, at[0] == len(old))) {
		leaves = append(leaves, o.newLeaf(segs, some))
	}
	o.split(segs, root, p, leaves)
}

// spread fills dst with src and, before entry at[i] of it, with what by returns for i.
func spread(dst, src []uint32, at []int, by func(i int) uint32) {
	from := 0
	for i, to := range at {
		copy(dst[from+i:], src[from:to])
		dst[to+i] = by(i)
		from = to
	}
	copy(dst[from+len(at):], src[from:])
}

// share is how many of n go into each of the pieces that hold up to most: equal parts, or, when keys come in order, full ones.
func share(n, most int, inOrder bool) int {
	if inOrder {
		return most
	}
	pieces := (n + most - 1) / most
	return (n + pieces - 1) / pieces
}

// remove deletes slot, whose record is still stored with the key it was inserted under.
func (o *ordered) remove(segs *segments, slot uint32) {
	root, key := *o.root.Load(), o.key(segs.body(slot))
	p := seek(root, key, slot)
	l := p.leaf
	if late := o.late(segs, l); len(late) > 0 {
		slots, at := o.positions(segs, l, late)
		l = o.grow(segs, l, slots, at)
	}
	i, slots := o.lowerBound(segs, l, key, slot), l.slots()
	if i == len(slots) || slots[i] != slot {
		return
	}
	if len(slots) == 1 {
		o.drop(root, p)
		return
	}
	root[p.b].leaves[p.l].Store(l.without(i))
}

// split publishes a root in which leaves stand for the one at p.
func (o *ordered) split(segs *segments, root []*branch, p place, by []*leaf) {
	b := root[p.b]
	last := p.l == len(b.leaves)-1
	seps := b.seps.unpack()
	for i, l := range by[1:] {
		seps = slices.Insert(seps, p.l+1+i, o.separator(segs, l.slots()[0]))
	}
	leaves := slices.Replace(b.all(), p.l, p.l+1, by...)
	n := share(len(leaves), maxBranch, last)
	var branches []*branch
	for i := 0; i < len(leaves); i += n {
		end := min(i+n, len(leaves))
		branches = append(branches, newBranch(leaves[i:end], seps[i:end]))
	}
	o.publish(root, p.b, branches...)
}

// drop publishes a root without the leaf at p, which keeps one leaf at least.
func (o *ordered) drop(root []*branch, p place) {
	b := root[p.b]
	switch leaves := b.all(); {
	case len(leaves) > 1:
		o.publish(root, p.b, newBranch(slices.Delete(leaves, p.l, p.l+1), slices.Delete(b.seps.unpack(), p.l, p.l+1)))
	case len(root) > 1:
		o.publish(root, p.b)
	default:
		o.load(nil, nil)
	}
}

// publish replaces branch b of root.
func (o *ordered) publish(root []*branch, b int, by ...*branch) {
	fresh := slices.Replace(slices.Clone(root), b, b+1, by...)
	o.root.Store(&fresh)
}

// ascend calls yield with the entries from (key, at) on, in order, until it returns false.
func (o *ordered) ascend(segs *segments, key []byte, at uint32, yield func(slot uint32, body []byte) bool) {
	root := *o.root.Load()
	p := seek(root, key, at)
	slots, before := o.entries(segs, p.leaf, entry{key, at})
	slots = slots[before:]
	for {
		for _, slot := range slots {
			if body := segs.body(slot); body != nil && !yield(slot, body) {
				return
			}
		}
		if p.l++; p.l == len(root[p.b].leaves) {
			if p.b, p.l = p.b+1, 0; p.b == len(root) {
				return
			}
		}
		slots, _ = o.entries(segs, root[p.b].leaves[p.l].Load(), entry{})
	}
}
