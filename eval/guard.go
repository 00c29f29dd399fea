package eval

// textPair is a text that a plain trait may have, both by number (see textCheck).
type textPair struct{ slot, text int32 }

// maxGuard is how many pairs a guard may have.
const maxGuard = 64

// guardOfAll is the guard of what matches when every one of rules does: pairs of
// which one must hold for it to match, nil when there are no such pairs.
//
// A guard says what cannot match and never what does: a trait that is not a text may
// equal one all the same, so that it opens every guard of its slot.
func guardOfAll(rules []rule) (guard []textPair) {
	for i := range rules {
		guard = smallerGuard(guard, rules[i].guard())
	}
	return guard
}

func (r *rule) guard() []textPair {
	switch r.quantifier {
	case ruleAll:
		guard := guardOfAll(r.rules)
		if len(r.texts) > 0 {
			guard = smallerGuard([]textPair{{r.texts[0].slot, r.texts[0].text}}, guard)
		}
		return guard
	case ruleAny:
		return smallerGuard(r.guardOfAnyText(), guardOfAny(r.rules))
	}
	return nil
}

func (r *rule) guardOfAnyText() (guard []textPair) {
	if len(r.others) > 0 || len(r.texts) > maxGuard {
		return nil
	}
	for _, check := range r.texts {
		guard = append(guard, textPair{check.slot, check.text})
	}
	return guard
}

func guardOfAny(rules []rule) (all []textPair) {
	for i := range rules {
		guard := rules[i].guard()
		if guard == nil || len(all)+len(guard) > maxGuard {
			return nil
		}
		all = append(all, guard...)
	}
	return all
}

// smallerGuard takes the one that opens for fewer, the first of equal ones.
func smallerGuard(a, b []textPair) []textPair {
	if a == nil || b != nil && len(b) < len(a) {
		return b
	}
	return a
}

// needs are texts that must all be there for rules that must all match: of a segment
// that is only about such texts nothing else is looked at.
type needs struct {
	texts []textPair
	more  bool // there are other things to look at
}

func needsOf(rules []rule) needs {
	n := needs{more: len(rules) == 0} // which never matches
	n.add(rules)
	return n
}

func (n *needs) add(rules []rule) {
	for i := range rules {
		r := &rules[i]
		if r.needsEach(len(r.conditions)) {
			for _, check := range r.texts {
				n.texts = append(n.texts, textPair{check.slot, check.text})
			}
			n.more = n.more || len(r.others) > 0
		} else {
			n.more = true
		}
		if r.needsEach(len(r.rules)) {
			n.add(r.rules)
		} else {
			n.more = true
		}
	}
}

// needsEach tells whether a rule with so many conditions, or sub-rules, needs each of them.
func (r *rule) needsEach(count int) bool {
	switch r.quantifier {
	case ruleAll:
		return true
	case ruleAny:
		return count <= 1
	case ruleNone:
		return count == 0
	}
	return false
}

// met tells whether the rules match, when the texts alone decide that.
func (n *needs) met(s *Subject) (answer, known bool) {
	known = !n.more
	texts := s.texts
	for _, need := range n.texts {
		if text := texts[need.slot]; text != need.text {
			if text != notText { // else it may be equal all the same
				return false, true
			}
			known = false
		}
	}
	return true, known
}

// guards finds the segments of an environment that may match a subject: most of
// many segments are not looked at. It is made of the rules alone.
type guards struct {
	unguarded []uint64 // see [Evaluation.Matched]
	slots     []guardedSlot
	texts     []slotTexts // by slot
}

// guardedSlot has the segments with a pair of one slot in their guard.
type guardedSlot struct {
	slot     int32
	segments []int32
	byText   map[int32][]int32
}

func newGuards(segments []*segment) *guards {
	g := &guards{unguarded: make([]uint64, (len(segments)+63)/64), texts: textsBySlot(segments)}
	places := map[int32]int{}
	for i, segment := range segments {
		guard := segment.rules.guard
		if guard == nil {
			g.unguarded[i>>6] |= 1 << (i & 63)
		}
		for _, pair := range guard {
			at, ok := places[pair.slot]
			if !ok {
				at = len(g.slots)
				places[pair.slot] = at
				g.slots = append(g.slots, guardedSlot{slot: pair.slot, byText: map[int32][]int32{}})
			}
			slot := &g.slots[at]
			slot.segments = append(slot.segments, int32(i))
			slot.byText[pair.text] = append(slot.byText[pair.text], int32(i))
		}
	}
	return g
}

// appendCandidates appends the set of segments that may match the subject.
func (g *guards) appendCandidates(dst []uint64, s *Subject) []uint64 {
	dst = append(dst, g.unguarded...)
	for i := range g.slots {
		slot := &g.slots[i]
		var open []int32
		switch text := s.texts[slot.slot]; text {
		case 0: // absent, or a text that no condition asks for
		case notText:
			open = slot.segments
		default:
			open = slot.byText[text]
		}
		for _, segment := range open {
			dst[segment>>6] |= 1 << (segment & 63)
		}
	}
	return dst
}
