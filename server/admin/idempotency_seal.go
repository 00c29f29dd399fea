package admin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A remembered answer may hold a secret that is stored nowhere else (a new organisation key) or should not lie about (a token). So it is
// encrypted with what only a repetition of the request brings: the Idempotency-Key, of which a keyed hash is stored, and the body. Whoever
// has the state, the log or a backup has neither. This is as strong as the key that the client chose: random ones are.
const (
	sealedLevel  = 2 // the format level from which answers are sealed
	sealedPrefix = "sealed:"
)

var errSealedAnswer = errors.New("a remembered answer cannot be opened")

// sealedName is what is stored of the Idempotency-Key.
func (c *Ctx) sealedName() string {
	mac := hmac.New(sha256.New, c.seed())
	mac.Write([]byte("idempotency key " + c.idempotencyKey())) // a hash takes everything
	return sealedPrefix + hex.EncodeToString(mac.Sum(nil))
}

// findAnswer looks up what is stored under the request's key; sealed: it is encrypted. Answers stored below sealedLevel are not.
func (c *Ctx) findAnswer(r fsm.Reader, scope string) (k fsm.IdempotencyKey, sealed, ok bool) {
	if k, ok = fsm.IdempotencyKeysByKey.First(r, scope, c.sealedName()); ok {
		return k, true, true
	}
	k, ok = fsm.IdempotencyKeysByKey.First(r, scope, c.idempotencyKey())
	return k, false, ok
}

// seals tells whether new answers are encrypted.
func (c *Ctx) seals() bool { return c.genesis().Level >= sealedLevel }

// fingerprint tells two requests apart. It is keyed with the installation's seed and, where the answer is sealed, with the
// Idempotency-Key: the body may hold a password.
func (c *Ctx) fingerprint(sealed bool) (sum [32]byte) {
	key := c.seed()
	if sealed {
		key = append(key, c.idempotencyKey()...)
	}
	h := hmac.New(sha256.New, key)
	for _, part := range []string{c.Request.Method, c.Request.Path, c.Request.Query} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	h.Write(c.Request.Body)
	return [32]byte(h.Sum(sum[:0]))
}

func (c *Ctx) sealer() (cipher.AEAD, error) {
	secret := append(fmt.Appendf(nil, "%d:%s", len(c.idempotencyKey()), c.idempotencyKey()), c.Request.Body...)
	key, err := hkdf.Key(sha256.New, secret, c.seed(), "remembered answer", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// sealBody encrypts a body. No body stays none.
func (c *Ctx) sealBody(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return body, nil
	}
	aead, err := c.sealer()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, body, nil), nil
}

// storedBody is the body of a stored answer.
func (c *Ctx) storedBody(k fsm.IdempotencyKey, sealed bool) ([]byte, error) {
	if !sealed || len(k.Body) == 0 {
		return k.Body, nil
	}
	aead, err := c.sealer()
	if err != nil {
		return nil, err
	}
	if len(k.Body) < aead.NonceSize() {
		return nil, errSealedAnswer
	}
	body, err := aead.Open(nil, k.Body[:aead.NonceSize()], k.Body[aead.NonceSize():], nil)
	if err != nil {
		return nil, errSealedAnswer
	}
	return body, nil
}

// sealAnswer makes the row of an answer, its Header excepted.
func (c *Ctx) sealAnswer(scope string, r route.Response) (fsm.IdempotencyKey, error) {
	old, _, _ := c.findAnswer(c, scope)
	k := fsm.IdempotencyKey{ID: old.ID, Scope: scope, Key: c.idempotencyKey(), Status: r.Status, Body: r.Body, Created: c.Now()}
	sealed := c.seals()
	k.Fingerprint = c.fingerprint(sealed)
	if !sealed {
		return k, nil
	}
	k.Key = c.sealedName()
	var err error
	k.Body, err = c.sealBody(r.Body)
	return k, err
}

func (c *Ctx) genesis() fsm.Genesis {
	switch r := c.Reader.(type) {
	case *fsm.Tx:
		return r.Genesis()
	case *fsm.State:
		return r.Genesis
	}
	return fsm.Genesis{}
}

// seed is the installation's secret.
func (c *Ctx) seed() []byte {
	seed := c.genesis().Seed
	return seed[:]
}
