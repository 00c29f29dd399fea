package eval

import "encoding/binary"

// precedence is the order in which segments override a feature. Features that the
// same segments override in the same order have one together, so that the segment
// that wins is looked for once for all of them.
type precedence struct {
	segments []int32  // the first of these that matches wins
	mask     []uint64 // the same segments, see [Evaluation.Matched]; nil without any
}

// winner is the place of the override that wins, or NoOverride.
func (p *precedence) winner(ev *Evaluation) int32 {
	if !ev.any || !ev.intersects(p.mask) {
		return NoOverride
	}
	place := int32(0)
	for !ev.Matches(int(p.segments[place])) {
		place++
	}
	return place
}

func (ev *Evaluation) intersects(mask []uint64) bool {
	for i, word := range mask {
		if word&ev.matched[i] != 0 {
			return true
		}
	}
	return false
}

// ranking collects the precedences of an environment that is being compiled.
type ranking struct {
	words   int // of a mask
	list    []precedence
	numbers map[string]int32
	key     []byte
}

func newRanking(segments int) *ranking {
	return &ranking{words: (segments + 63) / 64, numbers: map[string]int32{}}
}

// number is that of the precedence of a feature's overrides.
func (r *ranking) number(overrides []Override) int32 {
	r.key = r.key[:0]
	for i := range overrides {
		r.key = binary.AppendUvarint(r.key, uint64(overrides[i].Segment))
	}
	number, ok := r.numbers[string(r.key)]
	if !ok {
		number = int32(len(r.list))
		r.numbers[string(r.key)] = number
		r.list = append(r.list, r.precedence(overrides))
	}
	return number
}

func (r *ranking) precedence(overrides []Override) precedence {
	if len(overrides) == 0 {
		return precedence{}
	}
	p := precedence{segments: make([]int32, len(overrides)), mask: make([]uint64, r.words)}
	for i := range overrides {
		segment := overrides[i].Segment
		p.segments[i] = int32(segment)
		p.mask[segment>>6] |= 1 << (segment & 63)
	}
	return p
}
