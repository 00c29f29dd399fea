package credential

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// The parameters of codes (RFC 6238) that every authenticator app knows.
const (
	totpPeriod = 30 // seconds
	totpSkew   = 1  // steps that clocks may differ, to both sides
)

var totpCodes = hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}

// NewTOTPSecret makes an authenticator's secret: 160 bits in base32.
func NewTOTPSecret() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails
	return base32.StdEncoding.EncodeToString(b)
}

// MatchTOTP finds the time step whose code this is, the present one or a neighbour.
func MatchTOTP(secret, code string, now time.Time) (step uint64, ok bool) {
	if secret == "" {
		return 0, false
	}
	present := uint64(max(now.Unix(), totpPeriod*totpSkew)) / totpPeriod
	for s := present - totpSkew; s <= present+totpSkew; s++ {
		want, err := hotp.GenerateCodeCustom(secret, s, totpCodes)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// NewBackupCode makes a code that stands in for the authenticator once: 10 characters.
func NewBackupCode() string { return random(alphanumeric, 10) }
