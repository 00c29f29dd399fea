package admin

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A write that carries an Idempotency-Key stores its answer with its rows, in one transaction; the same request with the same key gets
// that answer again and writes nothing. Refused writes are not remembered: they changed nothing and may be tried again.

const maxIdempotencyKey = 255

// pendingHeader marks a stored answer that lacks what applying the write gives. It is replaced right after, before anybody is answered; it is
// met only when the leader was lost in between.
const pendingHeader = "Flagraft-Pending"

const replayedHeader = "Idempotency-Replayed"

func (c *Ctx) idempotencyKey() string { return c.Request.Header("Idempotency-Key") }

// remembered gives the answer to an earlier request with the key, or nil.
func (c *Ctx) remembered() (*route.Response, error) { return c.rememberedOf(c.Principal.Scope()) }

// spentScope is the scope of a request that ended its own credentials (it signed out, or deleted its account): the same request, with the
// same credentials, is still the same caller's.
func (c *Ctx) spentScope() string {
	mac := hmac.New(sha256.New, c.seed())
	mac.Write([]byte(c.Request.Header("Authorization"))) // a hash takes everything
	return "spent:" + hex.EncodeToString(mac.Sum(nil))
}

func (c *Ctx) rememberedOf(scope string) (*route.Response, error) {
	key := c.idempotencyKey()
	if key == "" {
		return nil, nil
	}
	if len(key) > maxIdempotencyKey || route.TextFault(key) != "" {
		return nil, route.BadRequest("Idempotency-Key must be text of at most 255 characters.")
	}
	k, sealed, ok := c.findAnswer(c, scope)
	if !ok {
		return nil, nil
	}
	if k.Fingerprint != c.fingerprint(sealed) {
		return nil, route.Detail(422, "Idempotency-Key was used before with another request.")
	}
	body, err := c.storedBody(k, sealed)
	if err != nil {
		return nil, err
	}
	r := &route.Response{Status: k.Status, Body: body}
	if err := json.Unmarshal(k.Header, &r.Headers); err != nil {
		return nil, fmt.Errorf("headers of a remembered answer: %w", err)
	}
	r.Headers = append(r.Headers, route.Header{Name: replayedHeader, Value: "true"})
	return r, nil
}

// recalled completes a remembered answer that is pending.
func (c *Ctx) recalled(r route.Response) route.Response {
	at := slices.IndexFunc(r.Headers, func(h route.Header) bool { return h.Name == pendingHeader })
	if at < 0 {
		return r
	}
	r.Headers = slices.Delete(r.Headers, at, at+1)
	h, ok := c.Row.Handler.(recaller)
	if !ok || !h.recalls() || c.admit() != nil {
		return r
	}
	in, err := c.Row.Schema().Decode(c.Call)
	if err != nil {
		return r
	}
	out, err := h.Recall(c.Call, in)
	if err != nil {
		return r // it is gone again
	}
	full := c.Answer(out, nil)
	full.Headers = append(full.Headers, route.Header{Name: replayedHeader, Value: "true"})
	return full
}

// remember stores the answer beside the rows; pending: it is to be replaced.
func (c *Ctx) remember(r route.Response, pending bool) error {
	if c.idempotencyKey() == "" {
		return nil
	}
	scope := c.Principal.Scope()
	if _, err := c.credentials(); err != nil {
		scope = c.spentScope()
	}
	k, err := c.sealAnswer(scope, r)
	if err != nil {
		return err
	}
	if pending {
		r.Headers = append(slices.Clone(r.Headers), route.Header{Name: pendingHeader, Value: "1"})
	}
	k.Header, _ = json.Marshal(r.Headers) // a slice of strings always encodes
	fsm.IdempotencyKeys.Put(c.Tx, k)
	return nil
}

// completeRemembered replaces the stored answer when applying the write filled something in: ids of identities are given there. Until it
// has, a repetition gets the answer without them.
func (a *API) completeRemembered(c *Ctx, r route.Response) (fsm.Written, error) {
	if c.idempotencyKey() == "" {
		return fsm.Written{}, nil
	}
	kept, sealed, ok := c.findAnswer(a.FSM.State(), c.Principal.Scope())
	body, err := c.storedBody(kept, sealed)
	if ok && err == nil && kept.Status == r.Status && bytes.Equal(body, r.Body) && !bytes.Contains(kept.Header, []byte(pendingHeader)) {
		return fsm.Written{}, nil
	}
	return a.Writer.Write(context.WithoutCancel(c.Context), c.Principal.Author(), func(tx *fsm.Tx) error {
		again := *c
		again.Tx, again.Reader = tx, tx
		return again.remember(r, false)
	})
}
