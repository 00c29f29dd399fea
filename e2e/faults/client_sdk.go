package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// readFlags reads from one node as SDKs do: flags and the document, or, in turn, identities.
func (r *Round) readFlags(ctx context.Context, node int, identities bool, rnd *rand.Rand) {
	sdk := r.sdkAt(node)
	document := sdk.With("X-Environment-Key", r.c.Home.ServerKey)
	trait := func(identifier, key string, value any) object {
		return object{"identifier": identifier, "traits": []object{{"trait_key": key, "trait_value": value}}}
	}
	for r.working.Load() && ctx.Err() == nil {
		sleep(ctx, time.Duration(3+rnd.IntN(8))*time.Millisecond)
		kind := rnd.IntN(8)
		switch {
		case identities && kind < 2: // changes, and is answered also when nobody can store it
			r.readOnce(ctx, node, sdk, "POST", "/api/v1/identities/", trait(fmt.Sprintf("reader-%d", rnd.IntN(1000)), "seen", rnd.IntN(1000)))
		case identities:
			r.readOnce(ctx, node, sdk, "POST", "/api/v1/identities/", trait("reader", "plan", "free"))
		case kind == 0:
			r.readOnce(ctx, node, document, "GET", "/api/v1/environment-document/", nil)
		default:
			r.readOnce(ctx, node, sdk, "GET", "/api/v1/flags/", nil)
		}
	}
}

// readOnce is one read. If it begins and ends while the node serves, it must be answered.
func (r *Round) readOnce(ctx context.Context, node int, sdk *nodes.Client, method, path string, body any) {
	phase, ok := r.c.Serving(node)
	if !ok {
		return
	}
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	began := r.rec.Now()
	a, err := sdk.Do(limit, method, path, body)
	if now, _ := r.c.Serving(node); now != phase || ctx.Err() != nil {
		return // something was done to the node meanwhile
	}
	r.reads.Add(1)
	if err == nil && a.Status >= 200 && a.Status < 300 {
		return
	}
	o := Op{Start: began, Node: node, Kind: "sdk read", Key: path}
	o.Finish(r.rec, a, err)
	r.rec.Add(o)
	if r.readsFailed.Add(1) <= 3 {
		r.fail("SDK read", "node %d, after %.2fs: %s %s: %d %s", node, float64(o.End-o.Start)/1e9, method, path, o.Status, o.Note)
	}
}

// session is a register with one writer, who must find what it wrote.
type session struct {
	*register
	next int
	// maybe are values whose outcome is unknown: they may come to be at any time later.
	maybe map[int]bool
}

// useSession writes on one node and reads on another with the index of the answer, and on the same one without.
func (r *Round) useSession(ctx context.Context, s *session, id int, rnd *rand.Rand) {
	s.maybe = map[int]bool{}
	for r.working.Load() && ctx.Err() == nil {
		s.next++
		value, writer, reader := s.next, rnd.IntN(len(r.c.Nodes)), rnd.IntN(len(r.c.Nodes))
		o := r.write(ctx, "session write", s.register, id, writer, strconv.Itoa(value))
		if o.Result == Unknown {
			s.maybe[value] = true
		}
		if o.Result == OK {
			if !o.Hidden {
				r.readBack(ctx, s, id, writer, value, "")
			}
			r.readBack(ctx, s, id, reader, value, o.Index)
		}
		sleep(ctx, time.Duration(5+rnd.IntN(20))*time.Millisecond)
	}
}

// readBack reads a flag at a node: at least as new as index, or, without one, whatever the node has.
func (r *Round) readBack(ctx context.Context, s *session, id, node int, wrote int, index string) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	sdk := r.sdkAt(node)
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "session read", Key: s.key}
	if index != "" {
		sdk = sdk.With("Flagraft-Min-Index", index)
		o.Kind = "session read min-index"
	}
	a, err := sdk.Do(ctx, "GET", "/api/v1/flags/?feature="+url.QueryEscape(s.key), nil)
	o.Finish(r.rec, a, err)
	if o.Result != OK {
		return // a node that was ended or stopped, or has not reached the index in time, and says so
	}
	o.Value = fmt.Sprint(a.Get("feature_state_value"))
	r.rec.Add(o)
	r.pairs.Add(1)
	if got, err := strconv.Atoi(o.Value); err != nil || got < wrote && !s.maybe[got] || got > wrote {
		r.fail("session", "%s at node %d: wrote %d, then read %s (index %s, answered %s)", s.key, node, wrote, o.Value, index, o.Index)
	}
}

// counter is what one client does with traits: fresh identities, one value written over and over, increments.
type counter struct {
	name string
	next int
}

// writeTraits writes traits of identities through any node.
func (r *Round) writeTraits(ctx context.Context, k *counter, id int, rnd *rand.Rand) {
	for r.working.Load() && ctx.Err() == nil {
		k.next++
		node := rnd.IntN(len(r.c.Nodes))
		switch rnd.IntN(4) {
		case 0:
			r.setTrait(ctx, "trait over", k.name+"-over", id, node, k.next)
		case 1:
			r.increment(ctx, k.name+"-sum", id, node)
		default:
			r.setTrait(ctx, "trait new", fmt.Sprintf("%s-%d", k.name, k.next), id, node, k.next)
		}
		sleep(ctx, time.Duration(5+rnd.IntN(20))*time.Millisecond)
	}
}

// setTrait sets the trait n of an identity; it is acknowledged only when the answer does not say that it was not stored.
func (r *Round) setTrait(ctx context.Context, kind, identity string, id, node, n int) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: kind, Key: identity, Value: strconv.Itoa(n)}
	a, err := r.sdkAt(node).Do(ctx, "POST", "/api/v1/identities/", object{"identifier": identity, "traits": []object{{"trait_key": "n", "trait_value": n}}})
	o.Finish(r.rec, a, err)
	if o.Result == OK && strings.EqualFold(a.Header.Get("Flagraft-Traits-Persisted"), "false") {
		o.Result = Unknown
	}
	r.rec.Add(o)
}

// increment adds one to a trait. It is not repeated: its effect is there at most once.
func (r *Round) increment(ctx context.Context, identity string, id, node int) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "trait add", Key: identity}
	a, err := r.sdkAt(node).Do(ctx, "POST", "/api/v1/traits/increment-value/", object{"identifier": identity, "trait_key": "n", "increment_by": 1})
	o.Finish(r.rec, a, err)
	if o.Result == OK && strings.EqualFold(a.Header.Get("Flagraft-Traits-Persisted"), "false") {
		o.Result = Unknown
	}
	r.rec.Add(o)
}

// writeOnce makes tags with idempotency keys and repeats each until it is acknowledged.
func (r *Round) writeOnce(ctx context.Context, id int, rnd *rand.Rand) {
	path := fmt.Sprintf("/api/v1/projects/%d/tags/", r.c.Home.ID)
	for n := 1; r.working.Load() && ctx.Err() == nil; n++ {
		label := fmt.Sprintf("o%016x-%d", r.seed, n)
		admin := r.c.Home.Admin.With("Idempotency-Key", label)
		o := Op{Start: r.rec.Now(), Client: id, Kind: "once", Key: label}
		for end := time.Now().Add(4 * RecoverWithin); ; {
			o.Node = rnd.IntN(len(r.c.Nodes))
			one, cancel := context.WithTimeout(ctx, 2*time.Second)
			a, err := r.c.At(o.Node, admin).Do(one, "POST", path, object{"label": label, "color": "#112233"})
			cancel()
			o.Finish(r.rec, a, err)
			if o.Result == OK {
				o.Value = fmt.Sprint(a.ID("id"))
			}
			if o.Status == http.StatusConflict { // the first attempt is still under way
				o.Result = Unknown
			}
			if o.Result == OK || o.Result == Wrong || time.Now().After(end) || ctx.Err() != nil {
				break
			}
			sleep(ctx, 50*time.Millisecond)
		}
		r.rec.Add(o)
		sleep(ctx, time.Duration(100+rnd.IntN(100))*time.Millisecond)
	}
}
