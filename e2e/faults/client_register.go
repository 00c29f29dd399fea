package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/flagraft/flagraft/e2e/nodes"
)

const (
	registers = 4
	presences = 2
	sessions  = 2
	counters  = 2

	writePatience = 7 * time.Second // longer than a node waits for a leader
	readPatience  = 3 * time.Second
)

// register is a feature state whose value two clients write and read.
type register struct {
	key  string // the feature's name
	path string // of the feature state
}

// prepare makes what the clients of this round work on: everything is new, since
// an unknown outcome of an earlier round may still come to be.
func (r *Round) prepare(ctx context.Context) error {
	for i := range registers {
		reg, err := r.newRegister(ctx, fmt.Sprintf("r%016x-%d", r.seed, i))
		if err != nil {
			return err
		}
		r.registers = append(r.registers, reg)
	}
	for i := range presences {
		r.presences = append(r.presences, fmt.Sprintf("p%016x-%d", r.seed, i))
	}
	for i := range sessions {
		reg, err := r.newRegister(ctx, fmt.Sprintf("s%016x-%d", r.seed, i))
		if err != nil {
			return err
		}
		r.sessions = append(r.sessions, &session{register: reg})
	}
	for i := range counters {
		r.counters = append(r.counters, &counter{name: fmt.Sprintf("t%016x-%d", r.seed, i)})
	}
	return nil
}

// newRegister makes a feature with the value "0".
func (r *Round) newRegister(ctx context.Context, name string) (*register, error) {
	home := r.c.Home
	if _, err := r.must(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", home.ID), object{"name": name, "initial_value": "0"}, http.StatusCreated); err != nil {
		return nil, err
	}
	list := "/api/v1/environments/" + home.EnvironmentKey + "/featurestates/"
	a, err := r.must(ctx, "GET", list+"?feature_name="+name, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	rows, _ := a.Get("results").([]any)
	if len(rows) != 1 {
		return nil, fmt.Errorf("feature states of %s: %s", name, a.Body)
	}
	return &register{key: name, path: fmt.Sprintf("%s%v/", list, rows[0].(object)["id"])}, nil
}

// useRegister writes new values and reads, on any node, linearizably.
func (r *Round) useRegister(ctx context.Context, k *register, id int, rnd *rand.Rand) {
	for n := 1; r.working.Load() && ctx.Err() == nil; n++ {
		node := rnd.IntN(len(r.c.Nodes))
		if rnd.IntN(2) == 0 {
			r.write(ctx, "reg write", k, id, node, fmt.Sprintf("%d.%d", id, n))
		} else {
			r.read(ctx, k, id, node)
		}
		sleep(ctx, time.Duration(10+rnd.IntN(40))*time.Millisecond)
	}
}

// write sets a register's value and records it as of that kind.
func (r *Round) write(ctx context.Context, kind string, k *register, id, node int, value string) Op {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: kind, Key: k.key, Value: value}
	a, err := r.c.At(node, r.c.Home.Admin).Do(ctx, "PATCH", k.path, object{"feature_state_value": value})
	o.Finish(r.rec, a, err)
	r.rec.Add(o)
	return o
}

// read reads a register's value, linearizably, and records it as "reg read" if it succeeded.
func (r *Round) read(ctx context.Context, k *register, id, node int) bool {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "reg read", Key: k.key}
	a, err := r.c.At(node, r.c.Home.Admin).With("Flagraft-Consistency", "linearizable").Do(ctx, "GET", k.path, nil)
	o.Finish(r.rec, a, err)
	if o.Result == OK {
		o.Value = fmt.Sprint(a.Get("feature_state_value"))
	}
	r.rec.Add(o)
	return o.Result == OK
}

// usePresence creates, deletes and looks for a feature that two clients fight over.
func (r *Round) usePresence(ctx context.Context, name string, id int, rnd *rand.Rand) {
	known := ""
	for r.working.Load() && ctx.Err() == nil {
		node := rnd.IntN(len(r.c.Nodes))
		switch k := rnd.IntN(3); {
		case k == 0:
			if got := r.create(ctx, name, id, node); got != "" {
				known = got
			}
		case k == 1 && known != "":
			r.remove(ctx, name, known, id, node)
		default:
			known, _ = r.look(ctx, name, id, node)
		}
		sleep(ctx, time.Duration(30+rnd.IntN(80))*time.Millisecond)
	}
}

// create records "has create": the id made, or "" when the name is taken.
func (r *Round) create(ctx context.Context, name string, id, node int) string {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "has create", Key: name}
	a, err := r.c.At(node, r.c.Home.Admin).Do(ctx, "POST", fmt.Sprintf("/api/v1/projects/%d/features/", r.c.Home.ID), object{"name": name})
	o.Finish(r.rec, a, err)
	switch {
	case o.Result == OK:
		o.Value = fmt.Sprint(a.ID("id"))
	case o.Status == http.StatusBadRequest:
		o.Result = OK
	}
	r.rec.Add(o)
	return o.Value
}

// remove records "has delete" of an id; Status tells whether it was there.
func (r *Round) remove(ctx context.Context, name, feature string, id, node int) {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "has delete", Key: name, Value: feature}
	a, err := r.c.At(node, r.c.Home.Admin).Do(ctx, "DELETE", fmt.Sprintf("/api/v1/projects/%d/features/%s/", r.c.Home.ID, feature), nil)
	o.Finish(r.rec, a, err)
	if o.Status == http.StatusNotFound {
		o.Result = OK
	}
	r.rec.Add(o)
}

// look records "has read": the id of the feature, or "".
func (r *Round) look(ctx context.Context, name string, id, node int) (found string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	o := Op{Start: r.rec.Now(), Client: id, Node: node, Kind: "has read", Key: name}
	path := fmt.Sprintf("/api/v1/projects/%d/features/?search=%s", r.c.Home.ID, url.QueryEscape(name))
	a, err := r.c.At(node, r.c.Home.Admin).With("Flagraft-Consistency", "linearizable").Do(ctx, "GET", path, nil)
	o.Finish(r.rec, a, err)
	if o.Result == OK {
		o.Value = onlyID(a)
	}
	r.rec.Add(o)
	return o.Value, o.Result == OK
}

func onlyID(a *nodes.Answer) string {
	rows, _ := a.Get("results").([]any)
	switch len(rows) {
	case 0:
		return ""
	case 1:
		id, _ := rows[0].(object)["id"].(json.Number)
		return id.String()
	}
	return fmt.Sprintf("%d rows", len(rows))
}
