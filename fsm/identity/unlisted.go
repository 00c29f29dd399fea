package identity

// unlisted is what Perform stored in a core and did not put into its names yet: many at once, in order, take a fraction
// of the time, since a leaf is copied once for all that go into it.
type unlisted struct {
	core  *core
	slots []uint32
}

// listing is the unlisted of several cores, with the room of earlier ones.
type listing struct {
	of []unlisted
	by sorter
}

// toList notes that the identity at slot belongs into the names of c.
func (s *Stores) toList(c *core, slot uint32) {
	l := s.unlisted
	if c.unlisted == 0 {
		n := len(l.of)
		if n < cap(l.of) {
			l.of = l.of[:n+1] // with the room of an earlier one
			l.of[n].core = c
		} else {
			l.of = append(l.of, unlisted{core: c})
		}
		c.unlisted = n + 1
	}
	u := &l.of[c.unlisted-1]
	u.slots = append(u.slots, slot)
}

// list puts into the names of c what is not there yet: before something is taken out of them.
func (s *Stores) list(c *core) {
	s.behind.Wait()
	if c.unlisted > 0 {
		s.unlisted.list(&s.unlisted.of[c.unlisted-1])
	}
}

func (l *listing) list(u *unlisted) {
	segs := u.core.segs.Load()
	l.by.sort(u.slots, func(slot uint32) []byte { return bodyIdentifier(segs.body(slot)) })
	u.core.names.insert(segs, u.slots...)
	u.slots = u.slots[:0]
}

// detach lets cores begin with new entries.
func (l *listing) detach() {
	for i := range l.of {
		l.of[i].core.unlisted = 0
	}
}

func (l *listing) settle() {
	const spare = 1 << 12 // entries
	for i := range l.of {
		u := &l.of[i]
		l.list(u)
		u.core = nil
		if cap(u.slots) > spare {
			u.slots = nil
		}
	}
	l.of = l.of[:0]
	if cap(l.of) > spare {
		l.of = nil
	}
	l.by.trim(spare)
}

// Settle makes the pages by identifier show what Perform stored. FSM goroutine only.
func (s *Stores) Settle() {
	s.behind.Wait()
	s.unlisted.detach()
	s.unlisted.settle()
}

// SettleBehind lets a goroutine do what Settle does, while further operations are performed: for a start, when nobody
// reads pages yet. Settle, and whatever takes a name away, waits for it. FSM goroutine only.
func (s *Stores) SettleBehind() {
	s.behind.Wait()
	s.unlisted.detach()
	l := s.unlisted
	s.unlisted, s.settling = s.settling, l
	s.behind.Go(l.settle)
}
