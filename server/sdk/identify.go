package sdk

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// person is the identity an answer is about.
type person struct {
	identifier string
	id         uint64 // 0: not stored
	index      uint64 // of the write the answer shows, 0 if none
	seen       uint64 // without a write: what was applied before the identity was looked up, 0: what the View shows
	lost       bool   // what should be stored is not known to be
}

// postIdentities is POST /identities/.
func (s *SDK) postIdentities(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, err := s.admit(ctx, fsm.UsageIdentities, false)
	if err != nil {
		s.refuse(ctx, m, err)
		return
	}
	sc := s.scratch(ctx)
	defer s.release(sc)
	b := newIdentityBody()
	p, answer, same := s.repeated(ctx, c, sc, b.own)
	if same {
		sc.known = s.knownOf(c, sc)
	} else {
		if p, err = s.decoded(ctx, m, &c, sc); err != nil {
			_ = b.Close() // never fails
			s.refuse(ctx, m, err)
			return
		}
		answer = s.appendPerson(b.own, c.view, sc, p)
	}
	s.startPrepared(ctx, m, c.view, headIdentity, p.seen, p.amends(c.view))
	s.amendHead(ctx, c.view, p)
	s.writeFlags(ctx, b, answer, c, sc, p)
}

// decoded is the ordinary way of postIdentities: the input is read, and stored
// where it is anything new.
func (s *SDK) decoded(ctx *fasthttp.RequestCtx, m *route.Match, c *caller, sc *scratch) (person, error) {
	sc.in.reset() // of what repeated looked at
	sc.repeats = false
	if err := s.identifyInputOf(ctx, m, sc); err != nil {
		return person{}, err
	}
	if !c.mayChangeTraits() {
		sc.in.traits = sc.in.traits[:0]
	}
	switch {
	case len(sc.in.identifier) == 0:
		return sc.anonymous(), nil
	case sc.in.transient:
		return s.transient(*c, sc), nil
	}
	return s.identify(c, sc), nil
}

// getIdentities is GET /identities/: it creates the identity, unless transient is
// given any text; then nothing stored is looked at either.
func (s *SDK) getIdentities(ctx *fasthttp.RequestCtx, _ *route.Match) {
	c, ok := s.enter(ctx, fsm.UsageIdentities, false)
	if !ok {
		return
	}
	args := ctx.QueryArgs()
	identifier := args.Peek("identifier")
	if len(identifier) == 0 { // 200, as the reference keeps it
		ctx.Response.Header.SetContentTypeBytes(jsonType)
		ctx.Response.SetBodyString(`{"detail":"Missing identifier"}`)
		return
	}
	sc := s.scratch(ctx)
	defer s.release(sc)
	var err error
	if sc.in.identifier, err = checkIdentifier(identifier); err != nil {
		s.fail(ctx, err)
		return
	}
	var p person
	if len(args.Peek("transient")) > 0 {
		sc.merge(nil, true)
		p.identifier = text(sc.in.identifier)
	} else {
		p = s.identify(&c, sc)
	}
	if feature := args.Peek("feature"); len(feature) > 0 {
		s.answerFeature(ctx, c, sc, p, string(feature))
		return
	}
	s.answerIdentity(ctx, c, sc, p)
}

// checkIdentifier refuses what cannot be stored as an identifier.
func checkIdentifier(b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		b = []byte(strings.ToValidUTF8(string(b), "\ufffd"))
	}
	if msg := route.TextFault(text(b)); msg != "" {
		return nil, route.Field("identifier", msg)
	}
	if utf8.RuneCount(b) > maxIdentifier {
		return nil, route.Field("identifier", route.MaxLengthText(maxIdentifier))
	}
	return b, nil
}

// anonymous makes up a person for a request without identifier: everything is
// transient, and the same traits give the same name.
func (sc *scratch) anonymous() person {
	sc.merge(nil, true)
	return person{identifier: nameOf(sc.in.traits)}
}

// nameOf is the SHA-256 of all keys and values as they were sent, by key, or random
// when none were. Nulls say nothing; a key that is sent twice counts twice.
func nameOf(sent []traitInput) string {
	if len(sent) == 0 {
		var b [16]byte
		rand.Read(b[:]) // never fails
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return hex.EncodeToString(b[:])
	}
	sorted := slices.SortedStableFunc(slices.Values(sent), func(a, b traitInput) int { return bytes.Compare(a.key, b.key) })
	var buf []byte
	for _, t := range sorted {
		v, err := eval.ParseLiteral(t.value)
		if err != nil { // null
			continue
		}
		buf = v.AppendText(append(buf, t.key...))
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

// transient evaluates with what is stored and the request's traits over it;
// nothing is written.
func (s *SDK) transient(c caller, sc *scratch) person {
	p := person{identifier: text(sc.in.identifier)}
	if rec, ok := s.stored(c, sc); ok {
		p.id = rec.ID()
		sc.merge(&rec, true)
	} else {
		sc.merge(nil, true)
	}
	return p
}

func (s *SDK) lookup(c caller, identifier []byte) (identity.Record, bool) {
	return s.FSM.State().Identities().Environment(c.view.Environment.ID).Lookup(identifier)
}

// stored looks up who sc is about.
func (s *SDK) stored(c caller, sc *scratch) (identity.Record, bool) {
	store := s.FSM.State().Identities().Environment(c.view.Environment.ID)
	rec, ok := store.Lookup(sc.in.identifier)
	if ok {
		sc.store = store
		sc.keys = keysOf(c.view, store, 0)
	}
	return rec, ok
}

// current tells whether what is stored here says what a request would change. Where that
// takes catching up, it waits for that: what was committed this moment is applied in the
// next, far sooner than a write would be.
func (s *SDK) current(sc *scratch, traits bool) bool {
	if !s.Fresh() {
		return false
	}
	return !traits && (s.Applied == nil || s.Applied()) || s.catchUp(sc)
}

// catchUp makes sure, once for a request, that this node has applied what any
// node acknowledged before.
func (s *SDK) catchUp(sc *scratch) bool {
	if sc.caughtUp == notTried {
		sc.caughtUp = caughtUp
		if s.CatchUp != nil && s.CatchUp(s.PersistBudget) != nil {
			sc.caughtUp = cutOff
		}
	}
	return sc.caughtUp == caughtUp
}

// identify stores what the request brings, if it is anything new or this node may
// be behind, and leaves in sc what to evaluate. An answer is given even when
// nothing could be stored. Once something is, c has the View that shows what was
// before it.
func (s *SDK) identify(c *caller, sc *scratch) person {
	persist := c.view.Organisation.PersistTraitData
	seen, applied := s.FSM.State().Index, s.FSM.Applied().Current()
	p, known, changed := s.compare(*c, sc, persist)
	// Traits may be those that this node knows of only: another may have acknowledged
	// others since, and then this request sets them back.
	if !changed && s.current(sc, persist && len(sc.in.traits) > 0) {
		if s.FSM.State().Index != seen {
			applied = s.FSM.Applied().Current()
			p, known, changed = s.compare(*c, sc, persist)
		}
		if !changed {
			p.seen = c.shows(applied)
			return p
		}
	}
	op := ownedUpsert(c.view.Environment.ID, &sc.in, persist, known)
	until := time.Now().Add(s.PersistBudget)
	o := s.write(sc.request, []identity.Op{op}, s.PersistBudget)
	if o.err == nil && len(o.results) == 1 && o.results[0].Status != identity.StatusOK {
		o.err = s.refusal(o.results[0])
		s.Log.DebugContext(sc.request, "identity is not stored", "reason", o.results[0].Status.String(), "environment", c.view.Environment.ID)
	}
	if o.err != nil {
		s.unpersisted.Add(1)
		if !errors.Is(o.err, context.DeadlineExceeded) {
			s.Log.DebugContext(sc.request, "identity is not stored", "error", o.err)
		}
		p.lost = true
		return p
	}
	p.index = o.index
	s.refresh(c, o.index, until)
	if rec, ok := s.stored(*c, sc); ok {
		p.id = rec.ID()
		sc.mergeAgain(&rec, known)
	} else { // it was deleted since
		sc.unnumbered()
	}
	return p
}

// shows returns index if an answer from the View and from an identity looked up since then shows all of it, and 0 if it may not. Without it the
// answer to a repetition would name an index from before what it repeats, which another node would then not wait for.
func (c *caller) shows(index uint64) uint64 {
	if index <= c.view.Index || !c.live.ShownBy(c.view, index) {
		return 0
	}
	return index
}

// refresh takes the View that shows what was written up to index, as the answer will say of itself; what is late is not waited for.
func (s *SDK) refresh(c *caller, index uint64, until time.Time) {
	if !c.live.Shows(index) {
		wait, cancel := context.WithDeadline(context.Background(), until)
		defer cancel()
		_ = s.Views.Wait(wait, index, c.live.ID()) // else the newest that there is
	}
	if v := c.live.View(); v != nil {
		c.view = v
	}
}

// compare looks the identity up, lays the request's traits over its own, and
// reports whether storing them would change anything.
func (s *SDK) compare(c caller, sc *scratch, persist bool) (p person, known, changed bool) {
	p.identifier = text(sc.in.identifier)
	rec, known := s.stored(c, sc)
	if !known {
		sc.merge(nil, false)
		return p, false, true
	}
	p.id = rec.ID()
	return p, true, sc.merge(&rec, false) && persist
}

// prepare readies sc for evaluating p on an engine.
func (sc *scratch) prepare(c caller, engine *eval.Environment, p person) {
	sc.subject.Reset(engine)
	sc.key = sc.key[:0]
	// An identity that is not stored has no id to hash.
	if !c.view.Environment.UseCompositeKeyForHashing && p.id != 0 {
		sc.key = strconv.AppendUint(sc.key, p.id, 10)
	}
	sc.subject.SetIdentity(p.identifier, text(sc.key))
	set := func(key *storedKey, name string, literal []byte) {
		v, err := eval.ParseLiteral(literal)
		switch {
		case err != nil:
		case key != nil && engine == c.view.Engine: // whose slots the keys have
			sc.subject.SetTraitAt(key.slot, name, v)
		default:
			sc.subject.SetTrait(name, v)
		}
	}
	if sc.repeats {
		for it := sc.record.Traits(); it.Next(); {
			set(sc.keys.key(it.KeyID()), it.Key(), it.Value()) // no key: deleted since the comparison
		}
		return
	}
	for i := range sc.effective {
		if e := &sc.effective[i]; !e.gone {
			set(e.stored, e.key, e.value)
		}
	}
}
