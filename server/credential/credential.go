// Package credential makes and checks what callers prove themselves with: passwords, account tokens, environment keys, organisation keys.
package credential

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The parameters of new password hashes (RFC 9106's second choice, with less memory): 19 MiB, two passes.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonThreads = 1
	argonKey     = 32
	saltSize     = 16
)

// Passwords hashes and verifies passwords with argon2id, a bounded number at a time: each takes 19 MiB and a core for tens of
// milliseconds, and sign-ins must not crowd out flag reads. Callers wait for a place.
type Passwords struct {
	places chan struct{}
}

// NewPasswords allows so many hashes at once.
func NewPasswords(concurrent int) *Passwords {
	return &Passwords{places: make(chan struct{}, max(1, concurrent))}
}

// Hash makes the text form "$argon2id$v=19$m=19456,t=2,p=1$salt$hash".
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("salt: %w", err)
	}
	if err := p.enter(ctx); err != nil {
		return "", err
	}
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	p.leave()
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// Verify checks a password. An empty or foreign hash takes as long as a real one and fails, so that timing does not tell whether an
// account exists. The error is the context's.
func (p *Passwords) Verify(ctx context.Context, hash, password string) (bool, error) {
	memory, passes, threads, salt, want, ok := parseHash(hash)
	if !ok {
		memory, passes, threads, salt, want = argonMemory, argonTime, argonThreads, make([]byte, saltSize), make([]byte, argonKey)
	}
	if err := p.enter(ctx); err != nil {
		return false, err
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, threads, uint32(len(want)))
	p.leave()
	return subtle.ConstantTimeCompare(got, want) == 1 && ok, nil
}

func (p *Passwords) enter(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Passwords) leave() { <-p.places }

func parseHash(hash string) (memory, passes uint32, threads uint8, salt, key []byte, ok bool) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != "v=19" {
		return
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); n != 3 || err != nil {
		return
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	sane := memory > 0 && memory <= 1<<20 && passes > 0 && passes <= 64 && threads > 0 && len(key) >= 16 && len(key) <= 128
	return memory, passes, threads, salt, key, err1 == nil && err2 == nil && sane
}

// NewToken makes an account token: 40 lower-case hexadecimal digits.
func NewToken() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// shortAlphabet is that of shortuuid: no 0 1 I O l.
const shortAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// NewEnvironmentKey makes a client-side key: 22 characters.
func NewEnvironmentKey() string { return random(shortAlphabet, 22) }

// EnvironmentKeyFault says what is wrong with a client-side key that somebody chose, or "": it stands in paths and headers, and "ser." marks
// server-side keys.
func EnvironmentKeyFault(key string) string {
	switch {
	case strings.Trim(key, alphanumeric+"-_.") != "":
		return "Enter a valid key consisting of letters, numbers, underscores, hyphens or dots."
	case strings.HasPrefix(key, "ser.") || key == "." || key == ".." || key == "permissions" || key == "get-by-uuid" || key == "environments":
		return "This key is reserved."
	}
	return ""
}

// NewInviteHash makes the secret of an invitation or an invite link: 22 characters.
func NewInviteHash() string { return random(shortAlphabet, 22) }

// NewServerKey makes a server-side key: "ser." and 22 characters.
func NewServerKey() string { return "ser." + NewEnvironmentKey() }

// NewMasterKey makes an organisation key, "<8>.<32>", its public prefix and what is stored of it.
func NewMasterKey() (key, prefix string, hash [32]byte) {
	prefix = random(alphanumeric, 8)
	key = prefix + "." + random(alphanumeric, 32)
	return key, prefix, HashMasterKey(key)
}

// HashMasterKey is what is stored of an organisation key. The secret is 32 random characters: a fast hash is enough.
func HashMasterKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// SameHash compares hashes in constant time.
func SameHash(a, b [32]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// NewOAuthClientID makes the public name of a registered program.
func NewOAuthClientID() string { return random(alphanumeric, 32) }

// NewOAuthSecret makes an authorization code or a token, 256 bits, and what is stored of it.
func NewOAuthSecret() (secret string, hash [32]byte) {
	secret = random(alphanumeric, 43)
	return secret, sha256.Sum256([]byte(secret))
}

// random picks n characters; bytes beyond the largest multiple of the alphabet are thrown away, so none is likelier than another.
func random(alphabet string, n int) string {
	limit := 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	buf := make([]byte, 2*n)
	for len(out) < n {
		rand.Read(buf) // never fails
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}
