package fsm

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

// Views gives readers the newest [View] of each environment and the meaning of
// each environment key. Lookups never lock: they load one atomic pointer.
type Views struct {
	log       *slog.Logger
	fsm       *FSM
	directory atomic.Pointer[directory]
	onView    atomic.Pointer[func(*View)]
	onGone    atomic.Pointer[func(environment uint64)]
}

// directory is the immutable set of environments and keys; the FSM goroutine
// replaces it when one of them changes.
type directory struct {
	keys         map[string]*EnvironmentKey
	environments map[uint64]*Live
}

// NewViews makes an empty set of Views for one [FSM].
func NewViews(log *slog.Logger) *Views {
	v := &Views{log: log}
	v.directory.Store(&directory{})
	return v
}

func (v *Views) attach(f *FSM) { v.fsm = f }

// OnView sets the function called with each published View, on the environment's
// actor: it must not block. Realtime and progress reports hang on it.
func (v *Views) OnView(f func(*View)) { v.onView.Store(&f) }

// OnGone sets the function called after an environment was deleted, on the FSM
// goroutine: it must not block.
func (v *Views) OnGone(f func(environment uint64)) { v.onGone.Store(&f) }

// EnvironmentKey is what an X-Environment-Key header names.
type EnvironmentKey struct {
	Live      *Live
	Server    bool // a "ser." key
	Active    bool
	ExpiresAt Time // zero: never
}

// Usable reports whether the key opens anything at that time.
func (k *EnvironmentKey) Usable(now Time) bool {
	return k.Active && (k.ExpiresAt.IsZero() || now < k.ExpiresAt)
}

// ByKey finds an environment by client-side or server-side key. key is not kept.
func (v *Views) ByKey(key []byte) (*EnvironmentKey, bool) {
	if k, ok := v.directory.Load().keys[string(key)]; ok {
		return k, true
	}
	return v.newKey(key)
}

// keyPatience bounds the wait of [Views.newKey]: the directory follows a state within
// milliseconds, or within a second when a restore replaced everything.
const keyPatience = time.Second

// newKey is [Views.ByKey] for a key that the directory does not know: the state may have
// it already, and the directory follows the state.
func (v *Views) newKey(key []byte) (*EnvironmentKey, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), keyPatience)
	defer cancel()
	if v.fsm.applied.Wait(ctx, v.fsm.State().Index) != nil {
		return nil, false
	}
	k, ok := v.directory.Load().keys[string(key)]
	return k, ok
}

// ByID finds an environment by id.
func (v *Views) ByID(environment uint64) (*Live, bool) {
	l, ok := v.directory.Load().environments[environment]
	return l, ok
}

// Each calls f with every environment, in no order.
func (v *Views) Each(f func(*Live)) {
	for _, l := range v.directory.Load().environments {
		f(l)
	}
}

// Wait returns once the Views of the given environments reflect index, as far as
// it touched them, or with the context's error. Environments that are gone
// count as done.
func (v *Views) Wait(ctx context.Context, index uint64, environments ...uint64) error {
	if err := v.fsm.applied.Wait(ctx, index); err != nil {
		return err
	}
	for _, id := range environments {
		if l, ok := v.ByID(id); ok {
			if err := l.wait(ctx, index); err != nil {
				return err
			}
		}
	}
	return nil
}

// changed is called on the FSM goroutine after a state was published and before
// its index is announced as applied.
func (v *Views) changed(touched *Touched, index uint64) {
	if touched.keys {
		v.rebuild(v.directory.Load().environments)
	}
	for _, id := range touched.environments {
		if l, ok := v.ByID(id); ok {
			l.touch(index)
		}
	}
}

// restored is changed for a state that replaced everything. An environment that
// has another key than the one with its id before is another environment: streams
// and waiters of the old one must not follow it.
func (v *Views) restored(index uint64) {
	state, old := v.fsm.State(), v.directory.Load()
	kept := make(map[uint64]*Live, len(old.environments))
	foreign := map[uint64]*Live{}
	for id, l := range old.environments {
		kept[id] = l
		if e := Environments.Ref(state, id); e != nil {
			if k := old.keys[e.APIKey]; k == nil || k.Live != l {
				delete(kept, id)
				foreign[id] = l
			}
		}
	}
	v.rebuild(kept)
	for id, l := range foreign {
		v.end(id, l)
	}
	v.Each(func(l *Live) { l.touch(index) })
}

// keysChanged reports whether a row's change is one of the directory. Most changes of
// environments are not: every audit log moves on their updated_at.
func keysChanged(def *tableDef, before, after any) bool {
	switch def {
	case Environments.def:
		return before == nil || after == nil || environmentKey(before) != environmentKey(after)
	case EnvironmentAPIKeys.def:
		return true
	}
	return false
}

func environmentKey(object any) string { return object.(*stored[Environment]).row.APIKey }

// rebuild makes the directory anew from the tables, keeping those of the given
// actors whose environments stay and ending those of environments that went.
func (v *Views) rebuild(actors map[uint64]*Live) {
	state := v.fsm.State()
	d := &directory{keys: map[string]*EnvironmentKey{}, environments: map[uint64]*Live{}}
	for e := range Environments.All(state) {
		l := actors[e.ID]
		if l == nil {
			l = newLive(v, e.ID) // its row is new, so that the caller touches it
		}
		d.environments[e.ID] = l
		d.keys[e.APIKey] = &EnvironmentKey{Live: l, Active: true}
		for k := range EnvironmentAPIKeysByEnvironment.All(state, e.ID) {
			d.keys[k.Key] = &EnvironmentKey{Live: l, Server: true, Active: k.Active, ExpiresAt: k.ExpiresAt}
		}
	}
	v.directory.Store(d)
	for id, l := range actors {
		if d.environments[id] == nil {
			v.end(id, l)
		}
	}
}

// end is the end of an environment.
func (v *Views) end(id uint64, l *Live) {
	l.loop.Stop()
	l.reached.Advance(gone) // nobody waits for what is gone
	if f := v.onGone.Load(); f != nil {
		(*f)(id)
	}
}

// Stop ends the environment actors.
func (v *Views) Stop() { v.Each(func(l *Live) { l.loop.Stop() }) }

// Live is one environment: its actor and the View it last published.
//
// The actor compiles the newest state whenever the environment was touched since
// its last View. Changes that keep coming get a quarter of a core: see [compilePace]. Full-policy:
// coalesce, newest state wins; touching never blocks.
type Live struct {
	id      uint64
	views   *Views
	view    atomic.Pointer[View]
	reached Watermark                 // index of the newest View
	touched atomic.Uint64             // last index that concerned the environment
	waits   atomic.Pointer[time.Time] // since when a change waits for its View; nil: none does
	signal  actor.Signal
	loop    *actor.Loop
	recent  atomic.Pointer[[]*View] // see recent.go
}

// gone is the View index of an environment that was deleted.
const gone = math.MaxUint64

func newLive(v *Views, id uint64) *Live {
	l := &Live{id: id, views: v, signal: actor.NewSignal()}
	l.loop = actor.Go(l.run)
	return l
}

// ID returns the environment's id.
func (l *Live) ID() uint64 { return l.id }

// View returns the newest View, or nil in the moment before the first one.
func (l *Live) View() *View { return l.view.Load() }

// Reached returns the last index that touched the environment and is in its View.
func (l *Live) Reached() uint64 { return l.reached.Current() }

// Gone reports whether the environment was deleted.
func (l *Live) Gone() bool { return l.reached.Current() == gone }

func (l *Live) touch(index uint64) {
	if l.waits.Load() == nil {
		now := time.Now()
		l.waits.CompareAndSwap(nil, &now)
	}
	l.touched.Store(index)
	l.signal.Raise()
}

// wait returns once the View shows what touched the environment up to index.
// The caller has waited for index to be applied.
func (l *Live) wait(ctx context.Context, index uint64) error {
	return l.reached.Wait(ctx, min(index, l.touched.Load()))
}

// Shows tells whether the View shows what touched the environment up to index, which has been applied.
func (l *Live) Shows(index uint64) bool { return l.reached.Current() >= min(index, l.touched.Load()) }

// ShownBy tells whether a View shows what touched the environment up to index. An index is announced as applied
// after who it touched was told: the caller has it from [FSM.Applied].
func (l *Live) ShownBy(v *View, index uint64) bool { return v.Index >= min(index, l.touched.Load()) }

// compileShare: while changes keep coming, compiling takes one of so many parts of a core.
const compileShare = 4

// compileBurst is how far compiling may be ahead of its share, so that a change now and then
// waits for no pause, in a large environment neither: a quarter of a second of compiling.
const compileBurst = time.Second

// compilePace says how long an environment's actor pauses.
type compilePace struct{ paid time.Time } // until when the share is used up

// after returns the pause after a compile.
func (p *compilePace) after(start time.Time, took time.Duration) time.Duration {
	if p.paid.Before(start) {
		p.paid = start
	}
	p.paid = p.paid.Add(compileShare * took)
	return p.paid.Sub(start.Add(took)) - compileBurst
}

// refreshEvery is how often an untouched environment's View moves to the newest
// state.
const refreshEvery = time.Minute

func (l *Live) run(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	var pace compilePace
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.refresh()
			l.recent.Store(nil)
			continue
		case <-l.signal.C():
		}
		start := time.Now()
		l.compile()
		select {
		case <-time.After(pace.after(start, time.Since(start))):
		case <-ctx.Done():
		}
	}
}

// compile publishes the View of the newest state.
func (l *Live) compile() {
	began, waits := time.Now(), l.waits.Swap(nil)
	previous := l.view.Load()
	view := compileView(l.views.fsm.State(), l.id, previous)
	if view == nil {
		return // deleted: the directory drops this actor soon
	}
	view.Compiled = Span{began, time.Now()}
	l.view.Store(view)
	if previous != nil && previous.paged.Load() {
		l.keep(previous) // somebody may be between two of its pages
	}
	l.reached.Advance(view.Index) // before anybody is told: who is woken may report it at once
	if f := l.views.onView.Load(); f != nil {
		(*f)(view)
	}
	m := l.views.fsm.measures
	m.compile.Observe(view.Compiled.Ended.Sub(began).Seconds())
	if waits != nil {
		m.lag.Observe(since(*waits))
	}
}

// refresh moves the View to the newest state if nothing touched the environment
// since. An index is announced as applied after who it touched was told, so a
// state up to there hides no touch.
func (l *Live) refresh() {
	view, state := l.view.Load(), l.views.fsm.State()
	if view == nil || state.Index == view.Index || l.views.fsm.applied.Current() < state.Index || l.touched.Load() > view.Index {
		return
	}
	l.view.Store(view.moved(state))
}
