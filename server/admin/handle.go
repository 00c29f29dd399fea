package admin

import (
	"reflect"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// handler adapts a typed function of a Ctx to a route.
type handler[In, Out any] struct {
	serve   func(*Ctx, In) (Out, error)
	prepare func(*Ctx, *In) error
	recall  func(*Ctx, In) (Out, error)
}

// recaller is a handler whose answer has parts that are given when the write is applied. Recall makes that answer from the state: it is for a
// repeated request whose first answer nobody got.
type recaller interface {
	recalls() bool
	Recall(c *route.Call, in any) (any, error)
}

var (
	_ route.Typed    = (*handler[struct{}, route.Empty])(nil)
	_ route.Preparer = (*handler[struct{}, route.Empty])(nil)
)

// read makes the handler of a row of kind Read: f gets the applied state.
func read[In, Out any](f func(*Ctx, In) (Out, error)) *handler[In, Out] {
	return &handler[In, Out]{serve: f}
}

// write makes the handler of a row of kind Write: f runs inside the transaction, on the leader, and may run more than once.
func write[In, Out any](f func(*Ctx, In) (Out, error)) *handler[In, Out] {
	return &handler[In, Out]{serve: f}
}

// before adds a step that runs once, outside the transaction, after authentication, permission and validation. It may change the input.
func (h *handler[In, Out]) before(f func(*Ctx, *In) error) *handler[In, Out] {
	h.prepare = f
	return h
}

// again adds what gives the answer to a write that was carried out, from the state that shows it.
func (h *handler[In, Out]) again(f func(*Ctx, In) (Out, error)) *handler[In, Out] {
	h.recall = f
	return h
}

func (h *handler[In, Out]) recalls() bool { return h.recall != nil }

// Recall runs the again step.
func (h *handler[In, Out]) Recall(c *route.Call, in any) (any, error) {
	return h.recall(From(c), *in.(*In))
}

// Input is the request type.
func (h *handler[In, Out]) Input() reflect.Type { return reflect.TypeFor[In]() }

// Output is the answer's type.
func (h *handler[In, Out]) Output() reflect.Type { return reflect.TypeFor[Out]() }

// Serve runs the function; in is a *In.
func (h *handler[In, Out]) Serve(c *route.Call, in any) (any, error) {
	return h.serve(From(c), *in.(*In))
}

// Prepare runs the before step.
func (h *handler[In, Out]) Prepare(c *route.Call, in any) error {
	if h.prepare == nil {
		return nil
	}
	return h.prepare(From(c), in.(*In))
}

// find gets a row by id, or the 404 that names its model.
func find[R any](r fsm.Reader, table fsm.Table[R], id uint64) (R, error) {
	row, ok := table.Get(r, id)
	if !ok {
		return row, route.NotFound(table.Name())
	}
	return row, nil
}

// mapped makes a list of answers from a list of rows.
func mapped[R, Out any](rows []R, f func(R) Out) []Out {
	out := make([]Out, len(rows))
	for i, r := range rows {
		out[i] = f(r)
	}
	return out
}
