package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// checker is the client number of reads made by checks.
const checker = 1000

// check looks at everything after a round. The clients are still.
func (r *Round) check(ctx context.Context) {
	for _, o := range r.rec.Ops("") {
		if o.Result == Wrong && o.Kind != "sdk read" {
			r.fail("unexpected answer", "%+v", o)
		}
	}
	r.checkStates(ctx)
	r.checkServed(ctx)
	for i := range r.c.Nodes {
		for _, k := range r.registers {
			if !soon(ctx, func() bool { return r.read(ctx, k, checker+i, i) }) {
				r.fail("read after healing", "node %d, %s", i, k.key)
			}
		}
		for _, name := range r.presences {
			if !soon(ctx, func() (ok bool) { _, ok = r.look(ctx, name, checker+i, i); return ok }) {
				r.fail("read after healing", "node %d, %s", i, name)
			}
		}
	}
	r.checkHistories()
	r.checkTraits(ctx)
	r.checkOnce(ctx)
}

// soon asks until it is answered: on a loaded machine leaders change without a fault, too.
func soon(ctx context.Context, ask func() bool) bool {
	for end := time.Now().Add(RecoverWithin); !ask(); sleep(ctx, 50*time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
	}
	return true
}

// checkStates waits until all nodes have one state hash at one index.
func (r *Round) checkStates(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, RecoverWithin)
	defer cancel()
	if _, err := r.c.OneState(ctx); err != nil {
		var all []string
		for i, n := range r.c.Nodes {
			s, err := n.Status(context.Background())
			all = append(all, fmt.Sprintf("node %d: index %d hash %s applied %d leader %v %v", i, s.StateHashIndex, s.StateHash, s.AppliedIndex, s.IsLeader, err))
		}
		r.fail("state hash", "%v: %q", err, all)
	}
}

// checkServed compares what SDKs get from every node. The state hash covers what a node keeps, not what it has compiled of it.
func (r *Round) checkServed(ctx context.Context) {
	for _, ask := range []struct{ key, path string }{
		{r.c.Home.EnvironmentKey, "/api/v1/flags/"},
		{r.c.Home.ServerKey, "/api/v1/environment-document/"},
		{r.c.Home.EnvironmentKey, "/api/v1/identities/?identifier=reader"},
	} {
		var served []string
		if !soon(ctx, func() (same bool) {
			served, same = r.served(ctx, ask.key, ask.path)
			return same
		}) {
			r.fail("served", "%s: %q", ask.path, served)
		}
	}
}

// served is what each node answers, cut short, and whether all answer the same: body and ETag.
func (r *Round) served(ctx context.Context, key, path string) (answers []string, same bool) {
	same = true
	var first string
	for i, n := range r.c.Nodes {
		limit, cancel := context.WithTimeout(ctx, readPatience)
		a, err := n.Client().With("X-Environment-Key", key).Must(limit, "GET", path, nil, http.StatusOK)
		cancel()
		got := fmt.Sprint(err)
		if err == nil {
			got = a.Header.Get("ETag") + " " + string(a.Body)
		}
		if i == 0 {
			first = got
		}
		same = same && err == nil && got == first
		answers = append(answers, got[:min(len(got), 1000)])
	}
	return answers, same
}

// checkHistories asks whether the operations on each key could have happened one after the other.
func (r *Round) checkHistories() {
	byKey := map[string][]Op{}
	for _, prefix := range []string{"reg ", "has "} {
		for _, o := range r.rec.Ops(prefix) {
			byKey[o.Key] = append(byKey[o.Key], o)
		}
	}
	for key, ops := range byKey {
		model := registerModel()
		if slices.Contains(r.presences, key) {
			model = presenceModel()
		}
		switch linearizable(model, ops) {
		case porcupine.Ok:
			r.histories++
		case porcupine.Unknown:
			r.undecided++
		case porcupine.Illegal:
			r.fail("linearizability", "%s: %d operations", key, len(ops))
		}
	}
}

// checkTraits compares the identities on every node with what was acknowledged.
func (r *Round) checkTraits(ctx context.Context) {
	ops := r.rec.Ops("trait ")
	var wait sync.WaitGroup
	for i := range r.c.Nodes {
		wait.Go(func() { r.checkTraitsAt(ctx, i, ops) })
	}
	wait.Wait()
}

func (r *Round) checkTraitsAt(ctx context.Context, node int, ops []Op) {
	last, unknown, sure, maybe := map[string]string{}, map[string][]string{}, map[string]int{}, map[string]int{}
	for _, o := range ops {
		switch {
		case o.Kind == "trait add" && o.Result == OK:
			sure[o.Key]++
		case o.Kind == "trait add" && o.Result == Unknown:
			maybe[o.Key]++
		case o.Kind == "trait add":
		case o.Result == OK:
			last[o.Key] = o.Value // one client writes an identity: the order is that of the record
		case o.Result == Unknown:
			unknown[o.Key] = append(unknown[o.Key], o.Value)
		}
	}
	for identity, want := range last {
		got, err := r.trait(ctx, node, identity)
		if err != nil || got != want && !slices.Contains(unknown[identity], got) {
			r.fail("acknowledged write lost", "identity %s at node %d: %q is stored, %q was acknowledged (%v)", identity, node, got, want, err)
		}
	}
	for identity, least := range sure {
		got, err := r.trait(ctx, node, identity)
		n, _ := strconv.Atoi(got)
		if err != nil || n < least || n > least+maybe[identity] {
			r.fail("increments", "identity %s at node %d: %q is stored, %d were acknowledged, %d are unknown (%v)", identity, node, got, least, maybe[identity], err)
		}
	}
}

// trait reads the trait n of an identity as a node has it; "" if it has none.
func (r *Round) trait(ctx context.Context, node int, identity string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	a, err := r.sdkAt(node).Must(ctx, "GET", "/api/v1/identities/?identifier="+url.QueryEscape(identity), nil, http.StatusOK)
	if err != nil {
		return "", err
	}
	rows, _ := a.Get("traits").([]any)
	for _, row := range rows {
		if t, _ := row.(object); t["trait_key"] == "n" {
			return fmt.Sprint(t["trait_value"]), nil
		}
	}
	return "", nil
}

func (r *Round) sdkAt(node int) *nodes.Client {
	return r.c.Nodes[node].Client().With("X-Environment-Key", r.c.Home.EnvironmentKey)
}

// checkOnce counts what was made with idempotency keys.
func (r *Round) checkOnce(ctx context.Context) {
	ops := r.rec.Ops("once")
	for i := range r.c.Nodes {
		limit, cancel := context.WithTimeout(ctx, RecoverWithin)
		count, err := r.tags(limit, i)
		cancel()
		if err != nil {
			r.fail("read after healing", "tags at node %d: %v", i, err)
			return
		}
		for _, o := range ops {
			ids := count[o.Key]
			switch {
			case len(ids) > 1:
				r.fail("exactly once", "%s is there %d times at node %d: %v", o.Key, len(ids), i, ids)
			case o.Result == OK && (len(ids) == 0 || ids[0] != o.Value):
				r.fail("acknowledged write lost", "tag %s at node %d: acknowledged as %s, there is %v", o.Key, i, o.Value, ids)
			case o.Result == Unknown && time.Duration(o.End-o.Start) > 4*RecoverWithin:
				r.fail("recovery", "tag %s was never acknowledged: %s", o.Key, o.Note)
			}
		}
	}
}

// tags are the ids of the project's tags by their label.
func (r *Round) tags(ctx context.Context, node int) (map[string][]string, error) {
	a, err := r.c.At(node, r.c.Home.Admin).Must(ctx, "GET", fmt.Sprintf("/api/v1/projects/%d/tags/?page_size=1000", r.c.Home.ID), nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	rows, ok := a.JSON().([]any)
	if !ok {
		rows, _ = a.Get("results").([]any)
	}
	byLabel := map[string][]string{}
	for _, row := range rows {
		t := row.(object)
		label := fmt.Sprint(t["label"])
		byLabel[label] = append(byLabel[label], t["id"].(json.Number).String())
	}
	return byLabel, nil
}
