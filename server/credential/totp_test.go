package credential

import (
	"encoding/base32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test vectors of RFC 6238, their last six digits.
func TestTOTP(t *testing.T) {
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	for unix, code := range map[int64]string{59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"} {
		at := time.Unix(unix, 0)
		step, ok := MatchTOTP(secret, code, at)
		require.True(t, ok)
		require.EqualValues(t, unix/30, step)
		for _, shift := range []time.Duration{-30 * time.Second, 30 * time.Second} {
			step, ok = MatchTOTP(secret, code, at.Add(shift))
			require.True(t, ok)
			require.EqualValues(t, unix/30, step)
		}
		_, ok = MatchTOTP(secret, code, at.Add(60*time.Second))
		require.False(t, ok)
		_, ok = MatchTOTP("", code, at)
		require.False(t, ok)
	}
	a, b := NewTOTPSecret(), NewTOTPSecret()
	require.Len(t, a, 32)
	require.NotEqual(t, a, b)
	require.Regexp(t, `^[A-Za-z0-9]{10}$`, NewBackupCode())
}
