package admin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Passwords hashes and verifies account passwords with argon2id. A hash takes
// 19 MB and tens of milliseconds, so that only a few run at once.
type Passwords struct {
	slots chan struct{}
	decoy string // compared against when there is no such user, to take as long
}

// The parameters of new hashes (OWASP's minimum for argon2id). Old hashes carry theirs.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// NewPasswords allows that many hashes at once.
func NewPasswords(parallel int) *Passwords {
	p := &Passwords{slots: make(chan struct{}, parallel)}
	p.decoy = encodeHash(make([]byte, argonSalt), make([]byte, argonKey))
	return p
}

// Hash returns the hash of a new password, "$argon2id$v=19$m=…,t=…,p=…$salt$key".
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.acquire(ctx); err != nil {
		return "", err
	}
	defer p.release()
	salt := make([]byte, argonSalt)
	rand.Read(salt) //nolint:errcheck // crypto/rand.Read never fails
	return encodeHash(salt, argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)), nil
}

// Verify reports whether password is the one of hash. An empty hash never
// matches and takes as long as any other.
func (p *Passwords) Verify(ctx context.Context, hash, password string) (bool, error) {
	if err := p.acquire(ctx); err != nil {
		return false, err
	}
	defer p.release()
	known := hash != ""
	if !known {
		hash = p.decoy
	}
	var memory, time uint32
	var threads uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, nil
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, nil
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil {
		return false, nil
	}
	got := argon2.IDKey([]byte(password), salt, time, memory, threads, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1 && known, nil
}

func (p *Passwords) acquire(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Passwords) release() { <-p.slots }

func encodeHash(salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}
