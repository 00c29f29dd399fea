package identity

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

const (
	codeBits   = 64 - slotBits
	codeWindow = 16 // bytes of a key that are looked at for one code

	fewSlots  = 24      // are sorted by comparing keys
	manySlots = 1 << 13 // are sorted by digits
)

// sorter sorts slots by a key of their records. Instead of keys, which lie all over memory, it compares codes of them,
// which fit in a word beside the slot: as many of a key's bytes as there is room for, each as its rank among the bytes
// that keys have at that place. So a prefix that all keys share takes no room, a decimal digit a bit more than three bits
// of it. Keys with the same code go on behind the bytes that it stands for.
type sorter struct {
	key          func(slot uint32) []byte
	words, spare []uint64

	// Of the keys that are being coded, by place in the window.
	seen  [codeWindow]byteSet
	ended [codeWindow + 1]bool // a key has no byte there
	ranks []placeRanks
}

type byteSet [4]uint64

func (s *byteSet) add(c byte) { s[c>>6] |= 1 << (c & 63) }

func (s *byteSet) size() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// each calls yield with the bytes in order.
func (s *byteSet) each(yield func(c int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			yield(i<<6 | bits.TrailingZeros64(w))
		}
	}
}

// placeRanks gives what each byte at a place adds to a code. The end of a key adds nothing: it comes first.
type placeRanks struct {
	at   int // in the key
	adds [256]uint64
}

// sort sorts by key, then slot, and reports whether all keys differ.
func (s *sorter) sort(slots []uint32, key func(slot uint32) []byte) (unique bool) {
	s.key = key
	s.words = slices.Grow(s.words[:0], len(slots))
	for _, slot := range slots {
		s.words = append(s.words, uint64(slot))
	}
	unique = s.order(s.words, 0)
	for i, w := range s.words {
		slots[i] = uint32(w & slotMask)
	}
	s.key = nil // lets go of the records
	return unique
}

// trim keeps room for so many slots at most.
func (s *sorter) trim(slots int) {
	if cap(s.words) > slots {
		s.words, s.spare = nil, nil
	}
}

func (s *sorter) at(w uint64) []byte { return s.key(uint32(w & slotMask)) }

// order sorts words whose keys do not differ in their first depth bytes.
func (s *sorter) order(words []uint64, depth int) (unique bool) {
	if len(words) < fewSlots {
		return s.compare(words)
	}
	depth = s.shared(words, depth)
	s.look(words, depth)
	depth, size := s.rank(depth)
	if size == 0 { // not even one key ends where another goes on
		slices.Sort(words)
		return false
	}
	for i, w := range words {
		words[i] = s.code(s.at(w))<<slotBits | w&slotMask
	}
	if len(words) < manySlots {
		slices.Sort(words)
	} else {
		s.spare = slices.Grow(s.spare[:0], len(words))
		copy(words, sortByDigits(words, s.spare[:len(words)], slotBits, size))
	}
	unique = true
	for len(words) > 0 {
		n := 1
		for n < len(words) && words[n]>>slotBits == words[0]>>slotBits {
			n++
		}
		if n > 1 && !s.order(words[:n], depth) {
			unique = false
		}
		words = words[n:]
	}
	return unique
}

func (s *sorter) compare(words []uint64) (unique bool) {
	unique = true
	slices.SortFunc(words, func(a, b uint64) int {
		c := bytes.Compare(s.at(a), s.at(b))
		if c == 0 {
			unique = false
			c = cmp.Compare(a&slotMask, b&slotMask)
		}
		return c
	})
	return unique
}

// shared is the depth up to which keys do not differ.
func (s *sorter) shared(words []uint64, depth int) int {
	first := s.at(words[0])
	n := len(first)
	for _, w := range words[1:] {
		key := s.at(w)
		n = min(n, len(key))
		for i := depth; i < n; i++ {
			if key[i] != first[i] {
				n = i
			}
		}
		if n <= depth {
			return depth
		}
	}
	return n
}

// look notes which bytes keys have from depth on.
func (s *sorter) look(words []uint64, depth int) {
	clear(s.seen[:])
	clear(s.ended[:])
	for _, w := range words {
		key := s.at(w)
		key = key[min(depth, len(key)):]
		key = key[:min(len(key), codeWindow)]
		s.ended[len(key)] = true
		for i, c := range key {
			s.seen[i].add(c)
		}
	}
}

// rank makes a code, of size bits, of what look noted. Keys with the same code do not differ up to the depth that it returns.
func (s *sorter) rank(depth int) (to, size int) {
	var choices [codeWindow]int // at each place; an end is one, but not what is behind it: the keys differ already
	places, all := 0, uint64(1)
	for ; places < codeWindow; places++ {
		n := s.seen[places].size()
		if s.ended[places] {
			n++
		}
		if all*uint64(max(n, 1)) > 1<<codeBits {
			break
		}
		all, choices[places] = all*uint64(max(n, 1)), n
	}
	s.ranks = s.ranks[:0]
	weight := all
	for i, n := range choices[:places] {
		if n < 2 {
			continue
		}
		weight /= uint64(n)
		s.ranks = slices.Grow(s.ranks, 1)[:len(s.ranks)+1]
		r, rank := &s.ranks[len(s.ranks)-1], uint64(0)
		if r.at = depth + i; s.ended[i] {
			rank = 1
		}
		s.seen[i].each(func(c int) {
			r.adds[c] = rank * weight
			rank++
		})
	}
	return depth + places, bits.Len64(all - 1)
}

func (s *sorter) code(key []byte) (code uint64) {
	for i := range s.ranks {
		r := &s.ranks[i]
		if r.at >= len(key) {
			break
		}
		code += r.adds[key[r.at]]
	}
	return code
}

// sortByDigits sorts words by size bits from shift on; words that are equal there keep their order. The result is in words
// or in spare, which is as long.
func sortByDigits(words, spare []uint64, shift, size int) []uint64 {
	const widest = 11 // so many places to write to are few enough for the processor's caches
	passes := (size + widest - 1) / widest
	for ; passes > 0; passes-- {
		width := (size + passes - 1) / passes
		var starts [1 << widest]int
		mask := uint64(1)<<width - 1
		for _, w := range words {
			starts[w>>shift&mask]++
		}
		sum := 0
		for i := range starts[:mask+1] {
			sum, starts[i] = sum+starts[i], sum
		}
		for _, w := range words {
			d := w >> shift & mask
			spare[starts[d]] = w
			starts[d]++
		}
		words, spare = spare, words
		shift, size = shift+width, size-width
	}
	return words
}
