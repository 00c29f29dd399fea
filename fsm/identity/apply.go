package identity

// Apply is Perform and Settle.
func (s *Stores) Apply(op *Op, index uint64, at int64) Result {
	defer s.Settle()
	return s.Perform(op, index, at)
}

// Perform runs one operation: index is the Raft index of its log entry, at the entry's time in µs since the Unix epoch.
// Nothing else enters the result. Pages by identifier may not show a new identity before Settle. The slices of op are
// borrowed for the call. FSM goroutine only.
func (s *Stores) Perform(op *Op, index uint64, at int64) Result {
	st := s.Environment(op.Environment)
	switch op.Kind {
	case KindDropEnvironment:
		return s.dropEnvironment(op.Environment, st)
	case KindDeleteTraitKey:
		return s.deleteTraitKey(st, op.Key)
	}
	if op.Kind == 0 || op.Kind > kindMax || op.Identity == 0 && len(op.Identifier) == 0 {
		return Result{Status: StatusInvalid}
	}
	if st == nil {
		if !op.creates() {
			return Result{Status: StatusMissing}
		}
		st = s.newStore(op.Environment)
	}
	keys := len(st.ring.keys)
	res := s.applyTo(st, op, index, at)
	if !res.Changed {
		st.ring.rollback(keys)
	}
	if res.Created && st.count.Load() == 1 {
		s.publish(op.Environment, st)
	}
	return res
}

// creates reports whether the operation makes a missing identity.
func (op *Op) creates() bool {
	switch op.Kind {
	case KindUpsert, KindCreate:
		return op.Identity == 0
	case KindSetTrait, KindIncrement:
		return op.Identity == 0 && op.TraitID == 0
	}
	return false
}

// applyTo finds or makes the identity and hands it to the operation.
func (s *Stores) applyTo(st *Store, op *Op, index uint64, at int64) Result {
	e := &s.edit
	e.reset(s, st)
	found := e.find(op)
	if op.ExpectLastChange != 0 && (!found || e.old.lastChange != op.ExpectLastChange) {
		if !found {
			return Result{Status: StatusMissing}
		}
		return Result{Status: StatusConflict, Identity: e.old.id, LastChange: e.old.lastChange}
	}
	switch {
	case found && op.Kind == KindCreate:
		return Result{Status: StatusExists, Identity: e.old.id, LastChange: e.old.lastChange}
	case !found && !op.creates():
		return Result{Status: StatusMissing}
	case !found && st.count.Load() >= int64(s.limits.Identities):
		return Result{Status: StatusOverIdentities}
	case !found:
		e.create(op.Identifier, at)
	}
	res := Result{Identity: e.rec.id, LastChange: e.old.lastChange}
	e.perform(op, &res)
	if res.Status != StatusOK || op.Kind == KindDelete {
		return res
	}
	e.commit(index, &res)
	return res
}

// perform changes the edit as the operation says.
func (e *edit) perform(op *Op, res *Result) {
	switch op.Kind {
	case KindUpsert, KindCreate:
		if op.Kind == KindCreate && len(op.Alias) > 0 {
			e.setAlias(op.Alias)
		}
		e.setTraits(op.Traits, res)
	case KindDelete:
		e.delete()
		res.Changed = true
	case KindRename:
		e.rename(op.NewIdentifier, res)
	case KindSetAlias:
		e.setAlias(op.Alias)
	case KindSetTrait:
		e.setOne(op, res)
	case KindDeleteTrait:
		e.deleteOne(op, res)
	case KindIncrement:
		e.increment(op, res)
	case KindSetFlags:
		e.changed = e.changed || e.rec.flags != op.Flags
		e.rec.flags = op.Flags
	}
}

func (s *Stores) dropEnvironment(id uint64, st *Store) Result {
	if st == nil {
		return Result{Status: StatusMissing}
	}
	s.sum.sub(st.sum)
	s.publish(id, nil)
	return Result{Changed: true, Count: uint64(st.count.Load())}
}

func (s *Stores) deleteTraitKey(st *Store, key []byte) Result {
	if st == nil {
		return Result{Status: StatusMissing}
	}
	id, ok := st.ring.ids[string(key)]
	if !ok {
		return Result{Status: StatusMissing}
	}
	refs := st.ring.keys[id].refs.Load()
	if refs == 0 {
		return Result{Status: StatusMissing}
	}
	st.sum.sub(st.ring.sums[id])
	s.sum.sub(st.ring.sums[id])
	st.ring.kill(id)
	st.keys.Store(st.ring.table())
	return Result{Changed: true, Count: uint64(refs)}
}
