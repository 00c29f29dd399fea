package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// handle makes a row's handler of a function, for reads and writes alike: the
// row's Kind decides where it runs.
func handle[In, Out any](f func(*Ctx, In) (Out, error)) route.Typed {
	return route.Func(func(c *route.Call, in In) (Out, error) { return f(c.State.(*Ctx), in) })
}

// prepared is handle with a step that runs once, on the leader, before the
// transaction, with the state of that moment. It may change the input.
func prepared[In, Out any](prepare func(*Ctx, *In) error, f func(*Ctx, In) (Out, error)) route.Typed {
	return preparedFunc[In, Out]{handle(f), prepare}
}

type preparedFunc[In, Out any] struct {
	route.Typed
	prepare func(*Ctx, *In) error
}

func (p preparedFunc[In, Out]) Prepare(c *route.Call, in any) error {
	return p.prepare(c.State.(*Ctx), in.(*In))
}

// Answer is what a request came to: the response, and for a write what was
// written (Index 0: nothing).
type Answer struct {
	route.Response
	Written fsm.Written
}

// Serve answers one request of this package's rows on this node; writes succeed
// on the leader only. The error is nil, or the Proposer's: then nothing was
// answered and the caller decides whether to look for another leader.
func (a *API) Serve(ctx context.Context, m *route.Match, req *route.Request) (Answer, error) {
	c := &Ctx{Call: route.NewCall(ctx, m, req), API: a, Reader: a.FSM.State()}
	c.State = c
	if m.Row.Kind == route.Write {
		return a.write(c)
	}
	out, err := c.run()
	return Answer{Response: c.Answer(out, err)}, nil
}

// run checks and serves the request on c.Reader.
func (c *Ctx) run() (any, error) {
	in, err := c.admit()
	if err != nil {
		return nil, err
	}
	return c.Row.Handler.(route.Typed).Serve(c.Call, in)
}

// admit authenticates, authorises, and decodes the input, in that order: the
// reference answers 403 before it validates.
func (c *Ctx) admit() (in any, err error) {
	if c.Principal, err = authenticate(c); err != nil {
		return nil, err
	}
	if c.Row.Permission != nil {
		if err := c.Row.Permission.Check(c.Call); err != nil {
			return nil, err
		}
	}
	return c.Row.Schema().Decode(c.Call)
}

func (a *API) write(c *Ctx) (Answer, error) {
	// Bad requests are turned away before they cost a turn of the Writer.
	in, err := c.admit()
	if err != nil {
		return Answer{Response: c.Answer(nil, err)}, nil
	}
	if p, ok := c.Row.Handler.(route.Preparer); ok {
		if err := p.Prepare(c.Call, in); err != nil {
			return Answer{Response: c.Answer(nil, err)}, nil
		}
	}
	prepared := in

	var out any
	var refused error
	var replay *route.Response
	written, err := a.Writer.Write(c.Context, fsm.Author{}, func(tx *fsm.Tx) error {
		call := *c.Call
		t := &Ctx{Call: &call, API: a, Reader: tx, Tx: tx}
		t.State = t
		out, replay = nil, nil
		out, replay, refused = t.transact(prepared)
		*c.Call = *t.Call
		return refused
	})
	switch {
	case refused != nil && err == refused: //nolint:errorlint // the very error the transaction returned
		return Answer{Response: c.Answer(nil, refused)}, nil
	case errors.Is(err, fsm.ErrTooLarge):
		return Answer{Response: c.Answer(nil, route.Detail(413, "The change is too large for one write."))}, nil
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return Answer{Response: c.Answer(nil, route.Unavailable("The server is too busy to take the change.", 1))}, nil
	case errors.Is(err, fsm.ErrPanicked):
		return Answer{Response: c.Answer(nil, route.Internal())}, nil
	case err != nil:
		return Answer{}, err
	case replay != nil:
		return Answer{Response: *replay}, nil
	default:
		return Answer{Response: c.Answer(out, nil), Written: written}, nil
	}
}

// transact is the part of a write that runs inside the transaction: who is asking
// and what they may do is judged by the state that the write will meet.
func (c *Ctx) transact(in any) (out any, replay *route.Response, err error) {
	if c.Principal, err = authenticate(c); err != nil {
		return nil, nil, err
	}
	c.Tx.SetAuthor(c.Principal.Author())
	if c.Row.Permission != nil {
		if err := c.Row.Permission.Check(c.Call); err != nil {
			return nil, nil, err
		}
	}
	key := c.Request.Header("Idempotency-Key")
	if key != "" {
		if replay, err = c.replay(key); replay != nil || err != nil {
			return nil, replay, err
		}
	}
	if out, err = c.Row.Handler.(route.Typed).Serve(c.Call, in); err != nil {
		return nil, nil, err
	}
	if key != "" {
		c.remember(key, c.Answer(out, nil))
	}
	return out, nil, nil
}

// replay returns the remembered answer to a repeated request.
func (c *Ctx) replay(key string) (*route.Response, error) {
	if len(key) > 255 {
		return nil, route.BadRequest("Idempotency-Key is longer than 255 characters.")
	}
	k, ok := fsm.IdempotencyKeysByKey.First(c.Reader, c.Principal.scope(), key)
	if !ok {
		return nil, nil
	}
	if k.Fingerprint != c.fingerprint() {
		return nil, route.Detail(422, "Idempotency-Key was used before with another request.")
	}
	r := &route.Response{Status: k.Status, Body: k.Body}
	if err := json.Unmarshal(k.Header, &r.Headers); err != nil {
		return nil, err
	}
	return r, nil
}

func (c *Ctx) remember(key string, r route.Response) {
	header, _ := json.Marshal(r.Headers) // a slice of strings always encodes
	fsm.IdempotencyKeys.Put(c.Tx, fsm.IdempotencyKey{
		Scope: c.Principal.scope(), Key: key, Fingerprint: c.fingerprint(),
		Status: r.Status, Header: header, Body: r.Body, Created: c.Tx.Now(),
	})
}

func (c *Ctx) fingerprint() [32]byte {
	return sha256.Sum256(bytes.Join([][]byte{
		[]byte(c.Request.Method), []byte(c.Request.Path), []byte(c.Request.Query), c.Request.Body,
	}, []byte{0}))
}
