package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A write that carries an Idempotency-Key stores its answer with its rows, in one transaction; the same request with the same key gets
// that answer again and writes nothing. Refused writes are not remembered: they changed nothing and may be tried again.

const maxIdempotencyKey = 255

func (c *Ctx) idempotencyKey() string { return c.Request.Header("Idempotency-Key") }

// remembered gives the answer to an earlier request with the key, or nil.
func (c *Ctx) remembered() (*route.Response, error) {
	key := c.idempotencyKey()
	if key == "" {
		return nil, nil
	}
	if len(key) > maxIdempotencyKey || route.TextFault(key) != "" {
		return nil, route.BadRequest("Idempotency-Key must be text of at most 255 characters.")
	}
	k, ok := fsm.IdempotencyKeysByKey.First(c, c.Principal.Scope(), key)
	if !ok {
		return nil, nil
	}
	if k.Fingerprint != c.fingerprint() {
		return nil, route.Detail(422, "Idempotency-Key was used before with another request.")
	}
	r := &route.Response{Status: k.Status, Body: k.Body}
	if err := json.Unmarshal(k.Header, &r.Headers); err != nil {
		return nil, fmt.Errorf("headers of a remembered answer: %w", err)
	}
	r.Headers = append(r.Headers, route.Header{Name: "Idempotency-Replayed", Value: "true"})
	return r, nil
}

// remember stores the answer beside the rows.
func (c *Ctx) remember(r route.Response) {
	key := c.idempotencyKey()
	if key == "" {
		return
	}
	k, _ := fsm.IdempotencyKeysByKey.First(c, c.Principal.Scope(), key)
	header, _ := json.Marshal(r.Headers) // a slice of strings always encodes
	fsm.IdempotencyKeys.Put(c.Tx, fsm.IdempotencyKey{
		ID: k.ID, Scope: c.Principal.Scope(), Key: key, Fingerprint: c.fingerprint(),
		Status: r.Status, Header: header, Body: r.Body, Created: c.Now(),
	})
}

// completeRemembered replaces the stored answer when applying the write filled something in (ids of identities are given there). If this
// fails, a repeated request gets the answer without them.
func (a *API) completeRemembered(c *Ctx, r route.Response) {
	if c.idempotencyKey() == "" {
		return
	}
	_, err := a.Writer.Write(c.Context, c.Principal.Author(), func(tx *fsm.Tx) error {
		again := *c
		again.Tx, again.Reader = tx, tx
		again.remember(r)
		return nil
	})
	if err != nil {
		a.Env.Log.Warn("stored answer stays incomplete", "operation", c.Row.OperationID, "error", err)
	}
}

// fingerprint tells two requests apart. It is keyed with the installation's seed: the body may hold a password.
func (c *Ctx) fingerprint() (sum [32]byte) {
	var seed [16]byte
	switch r := c.Reader.(type) {
	case *fsm.Tx:
		seed = r.Genesis().Seed
	case *fsm.State:
		seed = r.Genesis.Seed
	}
	h := hmac.New(sha256.New, seed[:])
	for _, part := range []string{c.Request.Method, c.Request.Path, c.Request.Query} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	h.Write(c.Request.Body)
	return [32]byte(h.Sum(sum[:0]))
}
