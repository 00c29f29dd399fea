package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func receiver(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func sender(t *testing.T, timeout time.Duration, private bool) *Sender {
	t.Helper()
	s := New(timeout, private, "1.2.3")
	t.Cleanup(s.Close)
	return s
}

func TestSend(t *testing.T) {
	var got *http.Request
	var body []byte
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	})
	s := sender(t, 10*time.Second, true)
	status, err := s.Send(t.Context(), Call{URL: url + "/hook?a=b", Secret: "s3", Delivery: 7, Body: []byte(`{"data": 1}`)})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "POST", got.Method)
	require.Equal(t, "/hook?a=b", got.URL.String())
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "flagraft/1.2.3", got.Header.Get("User-Agent"))
	require.Equal(t, "7", got.Header.Get("Flagraft-Delivery"))
	require.JSONEq(t, `{"data": 1}`, string(body))
	// echo -n '{"data": 1}' | openssl dgst -sha256 -hmac s3
	require.Equal(t, "867c71a5dea3decd9f279c808786a9f8d6c15173f4ec26571add373bbcf13e63", got.Header.Get("X-Flagsmith-Signature"))

	_, err = s.Send(t.Context(), Call{URL: url, Body: []byte("{}")})
	require.NoError(t, err)
	require.NotContains(t, got.Header, "X-Flagsmith-Signature", "only signed with a secret")
	require.NotContains(t, got.Header, "Flagraft-Delivery")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	calls := 0
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	status, err := sender(t, 10*time.Second, true).Send(t.Context(), Call{URL: url})
	require.NoError(t, err)
	require.Equal(t, http.StatusTemporaryRedirect, status)
	require.Equal(t, 1, calls)
}

// The address is judged when the connection is made, whatever the URL looks like.
func TestPrivateAddressesAreNotDialled(t *testing.T) {
	called := false
	url := receiver(t, func(http.ResponseWriter, *http.Request) { called = true })
	port := url[len("http://127.0.0.1"):]
	s := sender(t, 10*time.Second, false)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.1.2.3", "169.254.169.254", "[fe80::1]", "[fd00::1]", "0.0.0.0", "100.64.0.1"} {
		_, err := s.Send(t.Context(), Call{URL: "http://" + host + port})
		require.Error(t, err, host)
		if host != "localhost" { // may have no address at all here
			require.Equal(t, MsgPrivate, Reason(err), host)
		}
		require.ErrorIs(t, s.Check(t.Context(), "http://"+host+port), ErrPrivate, host)
	}
	require.False(t, called)
	for _, host := range []string{"8.8.8.8", "[2606:4700::1111]", "1.1.1.1:8443"} {
		require.NoError(t, s.Check(t.Context(), "https://"+host+"/x"), host)
	}
	require.ErrorIs(t, s.Check(t.Context(), "http://A.LocalHost./"), ErrPrivate)
	require.NoError(t, sender(t, time.Second, true).Check(t.Context(), "http://127.0.0.1/"))
}

func TestReasons(t *testing.T) {
	hang := make(chan struct{})
	url := receiver(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) })
	_, err := sender(t, 50*time.Millisecond, true).Send(t.Context(), Call{URL: url + "/?token=hidden"})
	require.Equal(t, "There was no answer in time.", Reason(err))

	closed := httptest.NewServer(nil)
	closed.Close()
	_, err = sender(t, 10*time.Second, true).Send(t.Context(), Call{URL: closed.URL + "/?token=hidden"})
	require.Error(t, err)
	require.Contains(t, Reason(err), "The connection could not be made: ")
	require.NotContains(t, Reason(err), "hidden")

	url = receiver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err = sender(t, 10*time.Second, true).Send(t.Context(), Call{URL: url + "/?token=hidden"})
	require.Error(t, err)
	require.NotContains(t, Reason(err), "hidden")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sender(t, 10*time.Second, true).Send(ctx, Call{URL: url})
	require.ErrorIs(t, err, context.Canceled)
}
