package fsm

// freeze takes the state as of one entry, identities included, beside Apply. It
// costs what a Raft snapshot's first step costs: a pointer per 2,048 identities.
// The result must be released.
func (f *FSM) freeze() *snapshot {
	f.applying.Lock()
	defer f.applying.Unlock()
	s := &snapshot{state: *f.published.Load(), pace: &f.pace, frozen: &f.frozen}
	f.frozen.Add(1)
	if f.ids != nil {
		s.identities = f.ids.Snapshot()
	}
	return s
}
