package fsm

// keptViews is how many Views of the past an environment keeps for pages, for a
// minute at most: their documents may be large.
const keptViews = 2

// ViewAt returns a View whose document is that of a log index which this node has
// applied. It is nil when the rows of then are no longer kept, or the environment
// did not exist. Of a View of the past only DocumentPage is of use.
func (l *Live) ViewAt(index uint64) *View {
	if v := l.view.Load(); v != nil && l.shows(v, index) {
		return v
	}
	f := l.views.fsm
	root := f.RowsAt(index)
	if root == nil {
		return nil
	}
	if v := l.kept(root); v != nil {
		return v
	}
	v := newView(root, l.id)
	if v == nil {
		return nil
	}
	return l.keep(v)
}

// shows reports whether nothing touched the environment between a View and index.
// An index is announced as applied after who it touched was told.
func (l *Live) shows(v *View, index uint64) bool {
	return l.views.fsm.applied.Current() >= v.Index && l.touched.Load() <= min(v.Index, index)
}

// kept returns the View of the past that has the rows of a root.
func (l *Live) kept(root *State) *View {
	list := l.recent.Load()
	if list == nil || root == nil {
		return nil
	}
	for _, v := range *list {
		if l.views.fsm.RowsAt(v.Index) == root {
			return v
		}
	}
	return nil
}

// keep adds a View of the past, or returns the one that is there already.
func (l *Live) keep(v *View) *View {
	for {
		old := l.recent.Load()
		if have := l.kept(l.views.fsm.RowsAt(v.Index)); have != nil {
			return have
		}
		list := []*View{v}
		if old != nil {
			list = append(list, (*old)[:min(len(*old), keptViews-1)]...)
		}
		if l.recent.CompareAndSwap(old, &list) {
			return v
		}
	}
}
