package sdk

import (
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/tally"
)

// scratch is what one identity request works with; it is pooled. Everything in it
// may alias the request's body, so it is dropped when the handler ends.
type scratch struct {
	request   *fasthttp.RequestCtx // whose
	in        identifyRequest
	repeats   bool            // the request repeats what is stored:
	record    identity.Record // its traits are those of this record, and not in effective
	store     *identity.Store // where the identity was found
	keys      *storedKeys     // of the View; set when an identity was found
	caughtUp  progress
	known     known // set for a repetition
	effective []effectiveTrait
	fresh     []string       // see mergeAgain
	positions map[string]int // of effective by key, used when indexed
	indexed   bool           // there are many traits

	subject    eval.Subject
	evaluation eval.Evaluation
	key        []byte // hashing key
	arena      []byte // canonical forms of literals that were not canonical
	cell       tally.Cell
}

// progress is whether a request made sure that this node has what others acknowledged.
type progress uint8

const (
	notTried progress = iota
	caughtUp
	cutOff
)

// identifyRequest is the input of an identity request.
type identifyRequest struct {
	identifier []byte // trimmed; empty: none
	traits     []traitInput
	transient  bool
}

// traitInput is one trait as sent. value is its canonical literal, nil for null.
type traitInput struct {
	key       []byte
	value     []byte
	transient bool
	repeated  bool // the same new key stood before; set by merge
}

func newScratch() *scratch {
	return &scratch{arena: make([]byte, 0, 256), cell: tally.NewCell()}
}

func (s *SDK) scratch(request *fasthttp.RequestCtx) *scratch {
	sc := s.pool.Get().(*scratch)
	sc.request = request
	return sc
}

func (s *SDK) release(sc *scratch) {
	sc.in.reset()
	sc.request, sc.repeats, sc.record, sc.store, sc.keys, sc.caughtUp, sc.known = nil, false, identity.Record{}, nil, nil, notTried, known{}
	clear(sc.effective)
	sc.effective = sc.effective[:0]
	clear(sc.positions)
	sc.arena = sc.arena[:0]
	if cap(sc.in.traits) > 10_000 || cap(sc.effective) > 10_000 {
		return
	}
	s.pool.Put(sc)
}

func (in *identifyRequest) reset() {
	clear(in.traits)
	*in = identifyRequest{traits: in.traits[:0]}
}

// text is b as a string without a copy; b must not change while it is used.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
