package fsm

import (
	"encoding/binary"
	"sync/atomic"
)

// Progress tells how far the Views of all ready nodes are: every node reports
// the index of each of its Views to the leader, which publishes the smallest per
// environment. "Live on every node" and the second realtime event read it.
type Progress struct {
	views  *Views
	merged atomic.Pointer[merged]
	told   atomic.Pointer[func()]
}

// merged is what the leader said last.
type merged struct {
	nodes   uint64 // that are ready
	reached map[uint64]uint64
}

// NewProgress follows the Views of one node.
func NewProgress(v *Views) *Progress {
	p := &Progress{views: v}
	p.merged.Store(&merged{})
	return p
}

// Everywhere returns the index that the Views of an environment have reached on
// all ready nodes, as this node was last told; 0 when it was told nothing.
func (p *Progress) Everywhere(environment uint64) uint64 { return p.merged.Load().reached[environment] }

// Alone reports whether this node is the only ready one, as it was last told.
func (p *Progress) Alone() bool { return p.merged.Load().nodes == 1 }

// Nodes is how many nodes are ready, as this node was last told.
func (p *Progress) Nodes() uint64 { return p.merged.Load().nodes }

// Here returns the index that this node's View of an environment reflects. A View that nothing touched since is as new as the state.
func (p *Progress) Here(environment uint64) uint64 {
	applied := p.views.fsm.applied.Current()
	if l, ok := p.views.ByID(environment); ok {
		if reached := l.reached.Current(); reached < l.touched.Load() {
			return reached
		}
	}
	return applied
}

// OnTold sets the function called after Everywhere changed: it must not block.
func (p *Progress) OnTold(f func()) { p.told.Store(&f) }

// Collect returns this node's report: an applied index, and (environment, index)
// pairs of the Views that are behind it. A View that nothing touched since is as
// new as the state.
func (p *Progress) Collect() []byte {
	applied := p.views.fsm.applied.Current()
	report := binary.AppendUvarint(nil, applied)
	p.views.Each(func(l *Live) {
		if reached := l.reached.Current(); reached < l.touched.Load() {
			report = binary.AppendUvarint(binary.AppendUvarint(report, l.id), reached)
		}
	})
	return report
}

// Merge makes the smallest of all nodes' reports, for every environment that
// this node knows, after the number of nodes; it runs on the leader. A damaged
// report counts as "nothing yet".
func (p *Progress) Merge(reports map[string][]byte) []byte {
	merged := binary.AppendUvarint(nil, uint64(len(reports)))
	decoded := make([]report, 0, len(reports))
	for _, raw := range reports {
		decoded = append(decoded, decodeReport(raw))
	}
	p.views.Each(func(l *Live) {
		least := ^uint64(0)
		for _, r := range decoded {
			least = min(least, r.reached(l.id))
		}
		if len(decoded) > 0 {
			merged = binary.AppendUvarint(binary.AppendUvarint(merged, l.id), least)
		}
	})
	return merged
}

// Deliver takes what the leader merged.
func (p *Progress) Deliver(raw []byte) {
	nodes, n := binary.Uvarint(raw)
	if n <= 0 {
		return
	}
	all := &merged{nodes: nodes, reached: map[uint64]uint64{}}
	for raw = raw[n:]; len(raw) > 0; {
		id, n := binary.Uvarint(raw)
		if n <= 0 {
			return
		}
		index, m := binary.Uvarint(raw[n:])
		if m <= 0 {
			return
		}
		all.reached[id] = index
		raw = raw[n+m:]
	}
	p.merged.Store(all)
	if f := p.told.Load(); f != nil {
		(*f)()
	}
}

type report struct {
	applied uint64
	behind  map[uint64]uint64
}

func decodeReport(raw []byte) (r report) {
	applied, n := binary.Uvarint(raw)
	if n <= 0 {
		return report{}
	}
	r = report{applied: applied, behind: map[uint64]uint64{}}
	for raw = raw[n:]; len(raw) > 0; {
		id, n := binary.Uvarint(raw)
		if n <= 0 {
			return report{}
		}
		index, m := binary.Uvarint(raw[n:])
		if m <= 0 {
			return report{}
		}
		r.behind[id] = index
		raw = raw[n+m:]
	}
	return r
}

func (r report) reached(environment uint64) uint64 {
	if index, ok := r.behind[environment]; ok {
		return index
	}
	return r.applied
}
