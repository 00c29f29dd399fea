package eval

import "github.com/flagraft/flagraft/eval/lanes"

// waiting is features whose variant needs a hash, until there are as many as can be
// hashed together.
type waiting struct {
	lanes    lanes.Lanes
	features [lanes.Width]int32
	count    int
}

// chooseLater has c choose the variant of feature i, at the latest in chooseWaiting.
func (e *Environment) chooseLater(s *Subject, ev *Evaluation, i int, c *split) {
	ev.join(c.key, s.key)
	if !lanes.Available() || len(ev.buf) > lanes.MaxText {
		ev.Outcomes[i].Variant = c.choose(percentageOf(ev.buf))
		return
	}
	w := &ev.waiting
	w.lanes.Set(w.count, ev.buf)
	w.features[w.count] = int32(i)
	if w.count++; w.count == lanes.Width {
		e.chooseWaiting(s, ev)
	}
}

// chooseWaiting chooses the variants of the features that wait.
func (e *Environment) chooseWaiting(s *Subject, ev *Evaluation) {
	w := &ev.waiting
	if w.count == 0 {
		return
	}
	w.lanes.Sum()
	for lane, i := range w.features[:w.count] {
		outcome := &ev.Outcomes[i]
		choice := e.features[i].choice(outcome.Override)
		bucket := mod9999(w.lanes.Hash(lane))
		if bucket == hashedAgain {
			ev.join(choice.key, s.key)
			bucket = rehash(ev.buf)
		}
		outcome.Variant = choice.choose(percentageOfBucket(bucket))
	}
	w.count = 0
}
