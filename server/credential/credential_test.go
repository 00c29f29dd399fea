package credential

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPasswords(t *testing.T) {
	p := NewPasswords(1)
	h, err := p.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(h, "$argon2id$v=19$m=19456,t=2,p=1$"))
	require.True(t, verify(t, p, h, "correct horse"))
	require.False(t, verify(t, p, h, "correct hors"))
	for _, bad := range []string{"", "x", "$argon2id$v=19$m=0,t=0,p=0$$", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$", "$2b$10$abc"} {
		require.False(t, verify(t, p, bad, ""), bad)
	}
	again, err := p.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	require.NotEqual(t, h, again, "salted")
}

func verify(t *testing.T, p *Passwords, hash, password string) bool {
	t.Helper()
	ok, err := p.Verify(t.Context(), hash, password)
	require.NoError(t, err)
	return ok
}

func TestKeys(t *testing.T) {
	require.Regexp(t, `^[0-9a-f]{40}$`, NewToken())
	require.Regexp(t, `^[2-9A-HJ-NP-Za-km-z]{22}$`, NewEnvironmentKey())
	require.Regexp(t, `^ser\.[2-9A-HJ-NP-Za-km-z]{22}$`, NewServerKey())
	key, prefix, hash := NewMasterKey()
	require.Regexp(t, `^[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}$`, key)
	require.True(t, strings.HasPrefix(key, prefix+"."))
	require.True(t, SameHash(hash, HashMasterKey(key)))
	require.False(t, SameHash(hash, HashMasterKey(key+"x")))
}
