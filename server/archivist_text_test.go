package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestALongFailureOfABackupIsRecorded, wherever among the bytes of its letters it is cut.
func TestALongFailureOfABackupIsRecorded(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", "x"} {
		s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>` + begin + strings.Repeat("é", 400) + `</Message></Error>`))
		}))
		t.Cleanup(s3.Close)
		n := servertest.Start(t, func(st *settings.Settings) { st.BackupS3AccessKey, st.BackupS3SecretKey = "a", "b" })
		atLevel(t, n)
		admin := n.Admin(t)
		admin.Object("POST", schedulesPath, map[string]any{"name": "daily", "when": "0 3 * * *", "target": "s3://bucket/?region=r&endpoint=" + url.QueryEscape(s3.URL), "keep": 2}, 201)
		admin.Object("POST", schedulesPath+"1/run/", nil, 200)
		got := scheduleUntil(t, admin, func(s map[string]any) bool { return s["failures"] == 1.0 })
		require.Contains(t, got["last_error"], "é…")
	}
}
