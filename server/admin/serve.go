package admin

import (
	"context"
	"errors"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// API serves typed rows on this node. Its fields are set once, before use.
type API struct {
	Env    *Env
	FSM    *fsm.FSM
	Writer *fsm.Writer
	// CatchUp makes this node's state reflect every acknowledged write. A write that the state at hand refuses is judged again after it: a
	// new leader may not have applied yet what its predecessor acknowledged.
	CatchUp func(context.Context) error
}

// Answer is what a request came to: the response, and the state it tells of. A write that succeeded names the index it is committed at, or,
// when it changed nothing or was answered before, one that shows what it tells; a read the index it was answered from. Index 0: none.
type Answer struct {
	route.Response
	Written fsm.Written
}

// Serve answers one request on this node; writes succeed on the leader only. The error is nil, or the Proposer's: then nothing was
// answered, and the caller decides whether to look for another leader.
func (a *API) Serve(ctx context.Context, m *route.Match, req *route.Request) (Answer, error) {
	call := route.NewCall(ctx, m, req)
	if m.Row.Kind == route.Write {
		return a.write(call)
	}
	state := a.FSM.State()
	answer := a.newCtx(call, state, nil).read()
	answer.Written.Index = state.Index
	return answer, nil
}

// read answers a request that changes nothing.
func (c *Ctx) read() Answer {
	if err := c.admit(); err != nil {
		return c.answer(nil, err)
	}
	in, err := c.Row.Schema().Decode(c.Call)
	if err != nil {
		return c.answer(nil, err)
	}
	return c.answer(c.Row.Handler.(route.Typed).Serve(c.Call, in))
}

// shown is the answer to a write that wrote nothing: what it tells is in this node's state.
func (a *API) shown(r route.Response) Answer {
	return Answer{Response: r, Written: fsm.Written{Index: a.FSM.State().Index}}
}

// newCtx makes the Ctx of one pass over the call; the call's parsed body is shared between passes, its headers are not.
func (a *API) newCtx(call *route.Call, r fsm.Reader, tx *fsm.Tx) *Ctx {
	c := &Ctx{Call: call.Again(), Reader: r, Tx: tx, Env: a.Env}
	c.State = c
	return c
}

// answer renders, and logs what is our fault. A handler that says 500 itself (health, of a node that is not ready) is none.
func (c *Ctx) answer(out any, err error) Answer {
	r := c.Answer(out, err)
	if r.Status == 500 && err != nil {
		c.Env.Log.ErrorContext(c.Context, "request failed", "operation", c.Row.OperationID, "error", err)
	}
	return Answer{Response: r}
}

// admit authenticates and authorises; decoding comes after it, as in the reference, which answers 403 before it validates.
func (c *Ctx) admit() error {
	if err := c.authenticate(); err != nil {
		return err
	}
	return c.authorise()
}

func (c *Ctx) authorise() error {
	if c.Row.Permission == nil {
		return nil
	}
	return c.Row.Permission.Check(c.Call)
}

// write turns bad requests away before they cost a turn of the Writer, does the row's slow work, and runs the transaction.
func (a *API) write(call *route.Call) (Answer, error) {
	c := a.newCtx(call, a.FSM.State(), nil)
	repeated, err := c.admitWrite()
	if err != nil && a.CatchUp != nil {
		if err := a.CatchUp(call.Context); err != nil {
			return Answer{}, err
		}
		c = a.newCtx(call, a.FSM.State(), nil)
		repeated, err = c.admitWrite()
	}
	if err != nil {
		return c.answer(nil, err), nil
	}
	if repeated != nil {
		return a.shown(c.recalled(*repeated)), nil
	}
	in, err := c.Row.Schema().Decode(c.Call)
	if err != nil {
		return c.answer(nil, err), nil
	}
	if p, ok := c.Row.Handler.(route.Preparer); ok {
		if err := p.Prepare(c.Call, in); err != nil {
			return c.answer(nil, err), nil
		}
	}
	return a.transact(call, in)
}

// admitWrite is admit with the remembered answer in between: what the first request did (deleting the very object) must not refuse the
// repeated one.
func (c *Ctx) admitWrite() (repeated *route.Response, err error) {
	if err := c.authenticate(); err != nil {
		if repeated, _ := c.rememberedOf(c.spentScope()); repeated != nil {
			return repeated, nil
		}
		return nil, err
	}
	if repeated, err = c.remembered(); repeated != nil || err != nil {
		return repeated, err
	}
	return nil, c.authorise()
}

// transaction is the last pass of a write.
type transaction struct {
	ctx      *Ctx
	out      any
	refused  error
	repeated *route.Response
}

func (a *API) transact(call *route.Call, in any) (Answer, error) {
	var t transaction
	var over *fsm.IdentityRefused
	written, err := a.Writer.Write(call.Context, fsm.Author{}, func(tx *fsm.Tx) error {
		t = transaction{ctx: a.newCtx(call, tx, tx)}
		t.refused = t.run(in)
		return t.refused
	})
	switch {
	case t.refused != nil && errors.Is(err, t.refused):
		return t.ctx.answer(nil, t.refused), nil
	case errors.Is(err, fsm.ErrFormatLevel):
		return t.ctx.answer(nil, route.Detail(409, "This cannot be written yet: "+err.Error()+". The level rises once every node knows it.")), nil
	case errors.As(err, &over):
		return t.ctx.answer(nil, identityRefused(over.Status)), nil
	case errors.Is(err, fsm.ErrTooLarge):
		return t.ctx.answer(nil, route.Detail(413, "The change is too large for one write.")), nil
	case errors.Is(err, fsm.ErrReadOnly):
		return Answer{Response: route.ErrorResponse(route.ReadOnly())}, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Answer{Response: route.ErrorResponse(route.Unavailable("The server is too busy to take the change; nothing was written.", 1))}, nil
	case errors.Is(err, fsm.ErrPanicked):
		return Answer{Response: route.ErrorResponse(route.Internal())}, nil
	case err != nil:
		return Answer{Written: written}, err
	case t.repeated != nil:
		return a.shown(a.newCtx(call, a.FSM.State(), nil).recalled(*t.repeated)), nil
	}
	t.ctx.sendMails()
	answer := t.ctx.answer(t.out, t.ctx.late)
	if written.Index == 0 {
		return a.shown(answer.Response), nil
	}
	answer.Written = written
	if t.ctx.WroteIdentities() {
		last, err := a.completeRemembered(t.ctx, answer.Response)
		if err != nil {
			return Answer{}, err // a repetition gets the answer that is kept
		}
		answer.Written.Index = max(written.Index, last.Index)
	}
	return answer, nil
}

// run is what happens inside the transaction: who asks, and what they may do, is judged by the state that the write meets.
func (t *transaction) run(in any) (err error) {
	c := t.ctx
	if t.repeated, err = c.admitWrite(); t.repeated != nil || err != nil {
		return err
	}
	c.Tx.SetAuthor(c.Principal.Author())
	if t.out, err = c.Row.Handler.(route.Typed).Serve(c.Call, in); err != nil {
		return err
	}
	h, ok := c.Row.Handler.(recaller)
	return c.remember(c.Answer(t.out, nil), c.WroteIdentities() && ok && h.recalls())
}
