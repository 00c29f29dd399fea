package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// code is what the app shows, so many steps from now.
func (h *harness) code(secret string, steps int) string {
	h.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	require.NoError(h, err)
	return code
}

// protect gives bob a second factor.
func (h *harness) protect(key string) (secret string, backup []string) {
	h.Helper()
	answer := h.do(key, "POST", "/api/v1/auth/app/activate/", `{}`).must(200).object()
	secret = answer["secret"].(string)
	require.Len(h, secret, 32)
	require.Equal(h, "otpauth://totp/flagraft:bob%40example.com?secret="+secret+"&issuer=flagraft", answer["qr_link"])
	for _, c := range h.do(key, "POST", "/api/v1/auth/app/activate/confirm/", map[string]string{"code": h.code(secret, 0)}).must(200).object()["backup_codes"].([]any) {
		require.Regexp(h, `^[A-Za-z0-9]{10}$`, c)
		backup = append(backup, c.(string))
	}
	require.Len(h, backup, 5)
	return secret, backup
}

// firstStep signs bob in as far as his password goes.
func (h *harness) firstStep() string {
	h.Helper()
	answer := h.login("flagsmith-Bob-1!", 200).object()
	require.Equal(h, "app", answer["method"])
	require.NotContains(h, answer, "key")
	return answer["ephemeral_token"].(string)
}

func (h *harness) secondStep(token, code string, status int) reply {
	h.Helper()
	h.api.Env.Throttle = NewThrottle(h.api.Env.Clock)
	return h.do("", "POST", "/api/v1/auth/login/code/", map[string]string{"ephemeral_token": token, "code": code}).must(status)
}

const (
	wrongCode  = `{"error":"Invalid or expired code."}`
	wrongToken = `{"error":"Invalid or expired token."}`
)

func TestEnrolment(t *testing.T) {
	h := newHarness(t)
	key := h.signUp()
	post := func(path, body string, status int) reply {
		return h.do(key, "POST", "/api/v1/auth/"+path, body).must(status)
	}
	post("sms/activate/", ``, 404).is(`{"error":"Requested MFA method does not exist."}`)
	post("sms/deactivate/", ``, 404)
	post("app/deactivate/", ``, 400).is(`{"error":"2FA is not enabled."}`)
	post("app/activate/confirm/", `{"code":"000000"}`, 400).is(`{"error":"Requested MFA method does not exist."}`)
	h.do("", "POST", "/api/v1/auth/app/activate/", nil).must(401)

	first := post("app/activate/", ``, 200).object()["secret"]
	post("app/activate/confirm/", `{}`, 400).is(`{"code":["This field is required."]}`)
	post("app/activate/confirm/", `{"code":"x"}`, 400).is(`{"code":["Code invalid or expired."]}`)
	h.do(key, "GET", "/api/v1/auth/mfa/user-active-methods/", nil).must(200).is(`[]`)
	h.login("flagsmith-Bob-1!", 200)
	secret, backup := h.protect(key)
	require.NotEqual(t, first, secret)
	post("app/activate/", ``, 400).is(`{"error":"MFA method already active."}`)
	post("app/activate/confirm/", `{"code":"1"}`, 400).is(`{"error":"MFA method already active."}`)
	h.do(key, "GET", "/api/v1/auth/mfa/user-active-methods/", nil).must(200).is(`[{"name":"app","is_primary":true}]`)
	h.do("admin", "GET", "/api/v1/auth/mfa/user-active-methods/", nil).must(200).is(`[]`)

	for change := range fsm.ChangeLog.All(h.node.FSM.State()) {
		for _, row := range change.Changes {
			require.NotContains(t, string(row.After), secret)
			require.NotContains(t, string(row.After), backup[0])
		}
	}

	token := h.firstStep()
	post("app/deactivate/", ``, 204)
	require.Contains(t, h.mails[0].body, "not protected")
	h.secondStep(token, h.code(secret, 0), 401).is(wrongToken)
	require.NotEmpty(t, h.login("flagsmith-Bob-1!", 200).object()["key"])
}

func TestSecondStep(t *testing.T) {
	h := newHarness(t)
	key := h.signUp()
	secret, backup := h.protect(key)
	token := h.firstStep()
	h.secondStep("x", "1", 401).is(wrongToken)
	h.secondStep("1-"+strings.Split(token, "-")[1], h.code(secret, 0), 401).is(wrongToken)
	h.secondStep(token, "", 400).is(`{"code":["This field may not be blank."]}`)
	h.secondStep(token, "000000x", 401).is(wrongCode)
	h.secondStep(token, h.code(secret, 4), 401).is(wrongCode)
	require.Equal(t, key, h.secondStep(token, h.code(secret, 0), 200).object()["key"])
	h.secondStep(token, backup[0], 401).is(wrongToken)

	token = h.firstStep()
	h.secondStep(token, h.code(secret, 0), 401).is(wrongCode) // used
	h.secondStep(token, backup[0], 200)
	token = h.firstStep()
	h.secondStep(token, backup[0], 401).is(wrongCode) // used
	h.secondStep(token, backup[4], 200)

	token = h.firstStep()
	h.expire()
	h.secondStep(token, backup[1], 401).is(wrongToken)

	oldest := h.firstStep()
	for range maxLive {
		h.api.Env.Throttle = NewThrottle(h.api.Env.Clock)
		token = h.firstStep()
	}
	h.secondStep(oldest, backup[1], 401).is(wrongToken)
	h.secondStep(token, backup[1], 200)
}

func TestWrongCodesLockTheAccount(t *testing.T) {
	h := newHarness(t)
	_, backup := h.protect(h.signUp())
	token := h.firstStep()
	for range maxFailedLogins - 1 {
		index := h.node.FSM.State().Index
		h.secondStep(token, "wrong", 401).is(wrongCode)
		require.Equal(t, index, h.node.FSM.State().Index, "only the last one is written")
	}
	token = h.firstStep() // a right password does not forget wrong codes
	h.secondStep(token, "wrong", 401).is(wrongCode)
	h.secondStep(token, backup[0], 401).is(wrongCode)
	h.login("flagsmith-Bob-1!", 400)
}

func TestCodeThrottle(t *testing.T) {
	h := newHarness(t)
	for range codesPerMinute {
		h.do("", "POST", "/api/v1/auth/login/code/", `{}`).must(400)
	}
	h.do("", "POST", "/api/v1/auth/login/code/", `{}`).must(429)
}

// Only the failure that closes the account is written down, and failures that are long past do not count.
func TestLockout(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := NewLockout(func() time.Time { return now })
	for range maxFailedLogins - 1 {
		require.False(t, l.Failed(1))
	}
	require.False(t, l.Failed(2))
	require.True(t, l.Failed(1))
	require.False(t, l.Failed(1))
	for range maxFailedLogins - 2 {
		require.False(t, l.Failed(1))
	}
	now = now.Add(lockTime)
	require.False(t, l.Failed(1))
	for range maxFailedLogins - 2 {
		require.False(t, l.Failed(1))
	}
	l.Passed(1)
	require.False(t, l.Failed(1))
}
