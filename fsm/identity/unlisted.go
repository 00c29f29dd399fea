package identity

// unlisted is what Perform stored in a core and did not put into its names yet: many at once, in order, take a fraction
// of the time, since a leaf is copied once for all that go into it.
type unlisted struct {
	core    *core
	entries []sortEntry
}

// toList notes that the identity at slot belongs into the names of c.
func (s *Stores) toList(c *core, slot uint32) {
	if c.unlisted == 0 {
		n := len(s.unlisted)
		if n < cap(s.unlisted) {
			s.unlisted = s.unlisted[:n+1] // with the room of an earlier one
			s.unlisted[n].core = c
		} else {
			s.unlisted = append(s.unlisted, unlisted{core: c})
		}
		c.unlisted = n + 1
	}
	u := &s.unlisted[c.unlisted-1]
	u.entries = append(u.entries, sortEntry{slot: slot})
}

// list puts into the names of c what is not there yet: before something is taken out of them.
func (s *Stores) list(c *core) {
	if c.unlisted == 0 {
		return
	}
	u := &s.unlisted[c.unlisted-1]
	segs := c.segs.Load()
	sortSlots(u.entries, 0, func(slot uint32) []byte { return bodyIdentifier(segs.body(slot)) })
	s.slots = s.slots[:0]
	for _, e := range u.entries {
		s.slots = append(s.slots, e.slot)
	}
	c.names.insert(segs, s.slots...)
	u.entries = u.entries[:0]
}

// Settle makes the pages by identifier show what Perform stored. FSM goroutine only.
func (s *Stores) Settle() {
	const spare = 1 << 12 // entries
	for i := range s.unlisted {
		u := &s.unlisted[i]
		s.list(u.core)
		u.core.unlisted, u.core = 0, nil
		if cap(u.entries) > spare {
			u.entries = nil
		}
	}
	s.unlisted = s.unlisted[:0]
	if cap(s.unlisted) > spare {
		s.unlisted = nil
	}
	if cap(s.slots) > spare {
		s.slots = nil
	}
}
