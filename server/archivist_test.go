package server_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

const schedulesPath = "/api/flagraft/v1/backups/schedules/"

// atLevel waits until the cluster of a node has reached the newest format level.
func atLevel(t *testing.T, n *servertest.Node) {
	t.Helper()
	require.Eventually(t, func() bool { return n.State().Level() == fsm.FormatLevel }, 20*time.Second, 5*time.Millisecond)
}

// scheduleUntil waits until a schedule is as wanted.
func scheduleUntil(t *testing.T, c *servertest.Client, what func(s map[string]any) bool) map[string]any {
	t.Helper()
	var last map[string]any
	require.Eventually(t, func() bool {
		last = c.Object("GET", schedulesPath+"1/", nil, 200)
		return what(last)
	}, 20*time.Second, 20*time.Millisecond)
	return last
}

func TestScheduledBackupsToADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := servertest.Start(t, func(st *settings.Settings) { st.BackupDir = dir })
	atLevel(t, n)
	admin := n.Admin(t)
	made := admin.Object("POST", schedulesPath, map[string]any{"name": "daily", "when": "0 3 * * *", "target": "here", "keep": 2}, 201)
	require.Equal(t, true, made["enabled"])
	require.Nil(t, made["last_run"])
	require.True(t, strings.HasSuffix(made["due"].(string), "T03:00:00Z") || strings.HasSuffix(made["due"].(string), "T03:00:00.000000Z"), made["due"])
	other := filepath.Join(dir, "here", "daily-2-20200101T000000Z-1.backup")
	require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o700))
	require.NoError(t, os.WriteFile(other, []byte("of another schedule"), 0o600))

	files := map[any]bool{}
	for i := range 3 {
		success := admin.Object("GET", schedulesPath+"1/", nil, 200)["last_success"]
		admin.Object("POST", schedulesPath+"1/run/", nil, 200)
		s := scheduleUntil(t, admin, func(s map[string]any) bool { return s["last_success"] != success })
		require.Empty(t, s["last_error"], i)
		files[s["last_file"]] = true
		raw, err := os.ReadFile(filepath.Join(dir, "here", s["last_file"].(string)))
		require.NoError(t, err)
		require.Equal(t, s["last_bytes"], float64(len(raw)))
		h, err := fsm.VerifyBackup(bytes.NewReader(raw))
		require.NoError(t, err)
		require.Equal(t, s["last_index"], float64(h.Index))
		require.Greater(t, s["due"], s["last_success"], "the next one is planned")
		time.Sleep(1100 * time.Millisecond) // the second is part of the name
	}
	require.Len(t, files, 3)
	left, err := os.ReadDir(filepath.Join(dir, "here"))
	require.NoError(t, err)
	require.Len(t, left, 3, "two are kept, and the file of the other schedule")
	require.FileExists(t, other)
	require.Equal(t, float64(1), n.Metric(t, `flagraft_backup_enabled{schedule="daily"}`))
	require.Positive(t, n.Metric(t, `flagraft_backup_last_success_timestamp_seconds{schedule="daily"}`))
}

// TestAFailedScheduledBackupIsTriedAgain takes the target away, and gives it back.
func TestAFailedScheduledBackupIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	require.NoError(t, os.WriteFile(dir, []byte("a file where the directory should be"), 0o600))
	n := servertest.Start(t, func(st *settings.Settings) { st.BackupDir = dir })
	atLevel(t, n)
	admin := n.Admin(t)
	admin.Object("POST", schedulesPath, map[string]any{"name": "often", "when": "6h", "target": "here"}, 201)
	admin.Object("POST", schedulesPath+"1/run/", nil, 200)
	s := scheduleUntil(t, admin, func(s map[string]any) bool { return s["failures"] != 0.0 })
	require.Contains(t, s["last_error"], "not a directory")
	require.Nil(t, s["last_success"])
	due, err := time.Parse(time.RFC3339Nano, s["due"].(string))
	require.NoError(t, err)
	require.Less(t, time.Until(due), 2*time.Minute, "it is tried again before the next regular one")
	require.Equal(t, 1.0, n.Metric(t, `flagraft_backup_failures{schedule="often"}`))

	require.NoError(t, os.Remove(dir))
	admin.Object("POST", schedulesPath+"1/run/", nil, 200)
	s = scheduleUntil(t, admin, func(s map[string]any) bool { return s["failures"] == 0.0 })
	require.Empty(t, s["last_error"])
	require.NotNil(t, s["last_success"])
}

func TestBackupSchedulesAreChecked(t *testing.T) {
	n := servertest.Start(t)
	atLevel(t, n)
	admin := n.Admin(t)
	good := func(change ...string) map[string]any {
		in := map[string]any{"name": "a", "when": "6h", "target": "d"}
		for i := 0; i < len(change); i += 2 {
			in[change[i]] = change[i+1]
		}
		return in
	}
	for _, bad := range []map[string]any{
		good("name", "A b"), good("name", "-a"), good("name", ""), good("when", "5s"), good("when", "nonsense"), good("when", "61 * * * *"),
		good("target", ""), good("target", "s3://key:secret@bucket"), good("target", "gs://bucket"), good("keep", "-1"), {},
	} {
		a := admin.Do("POST", schedulesPath, bad)
		require.Equal(t, 400, a.Status, "%v: %s", bad, a.Raw)
		require.NotContains(t, a.Raw, "secret")
	}
	admin.Object("POST", schedulesPath, good(), 201)
	admin.Object("POST", schedulesPath, good(), 400)
	admin.Object("PATCH", schedulesPath+"1/", map[string]any{"enabled": false, "keep": 0}, 200)
	require.Equal(t, "6h", admin.Object("GET", schedulesPath+"1/", nil, 200)["when"])
	admin.Object("POST", schedulesPath+"1/run/", nil, 400)
	require.Len(t, admin.List("GET", schedulesPath, nil, 200), 1)
	require.Equal(t, 204, admin.Do("DELETE", schedulesPath+"1/", nil).Status)
	require.Equal(t, 404, admin.Do("GET", schedulesPath+"1/", nil).Status)
	require.Equal(t, 401, n.Client(t).Do("GET", schedulesPath, nil).Status)
}

// backsUpTo starts a node with a schedule that puts a backup into an S3 server now.
func backsUpTo(t *testing.T, s3 string) *servertest.Client {
	t.Helper()
	n := servertest.Start(t, func(st *settings.Settings) { st.BackupS3AccessKey, st.BackupS3SecretKey = "a", "b" })
	atLevel(t, n)
	admin := n.Admin(t)
	admin.Object("POST", schedulesPath, map[string]any{"name": "daily", "when": "0 3 * * *", "target": "s3://bucket/?region=r&endpoint=" + url.QueryEscape(s3), "keep": 2}, 201)
	admin.Object("POST", schedulesPath+"1/run/", nil, 200)
	return admin
}

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
		admin := backsUpTo(t, s3.URL)
		got := scheduleUntil(t, admin, func(s map[string]any) bool { return s["failures"] == 1.0 })
		require.Contains(t, got["last_error"], "é…")
	}
}

// TestAListingThatIsNoneIsTold: what storage, or something in front of it, answers instead with 200 would read as a listing of nothing, and backups
// pile up without a word.
func TestAListingThatIsNoneIsTold(t *testing.T) {
	t.Parallel()
	s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		switch {
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(`<Error><Code>InternalError</Code><Message>no</Message></Error>`))
		case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
			_, _ = w.Write([]byte(`<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><UploadId>u</UploadId></InitiateMultipartUploadResult>`))
		case r.Method == http.MethodPost:
			_, _ = w.Write([]byte(`<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>k</Key><ETag>"x"</ETag></CompleteMultipartUploadResult>`))
		default:
			w.Header().Set("ETag", `"x"`)
		}
	}))
	t.Cleanup(s3.Close)
	admin := backsUpTo(t, s3.URL)
	got := scheduleUntil(t, admin, func(s map[string]any) bool { return s["last_success"] != nil })
	require.Equal(t, 1.0, got["failures"])
	require.Contains(t, got["last_error"], "older ones are not removed: the listing of them is empty")
}

// startWithoutSpace starts a stopped node again, on a disk that counts as full and a day later, and waits until it is read-only.
func startWithoutSpace(t *testing.T, stopped *servertest.Node, before *settings.Settings) *servertest.Node {
	t.Helper()
	n := servertest.StartWith(t, func(n *server.Node) {
		n.Clock = func() time.Time { return time.Now().Add(24 * time.Hour) }
	}, func(st *settings.Settings) {
		*st = *before
		st.ClusterAddr, st.MinFreeDiskMB = stopped.ClusterAddr(), 1<<30
	})
	require.Eventually(t, func() bool { return n.Metric(t, "flagraft_read_only") == 1 }, 20*time.Second, 20*time.Millisecond)
	return n
}

// TestAReadOnlyClusterKeepsItsBackups: a backup whose result cannot be recorded is not taken over and over, each time at the cost of an older one.
func TestAReadOnlyClusterKeepsItsBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var st *settings.Settings
	n := servertest.Start(t, func(s *settings.Settings) { st, s.BackupDir = s, dir })
	atLevel(t, n)
	admin := n.Admin(t)
	admin.Object("POST", schedulesPath, map[string]any{"name": "often", "when": "6h", "target": "here", "keep": 1}, 201)
	admin.Object("POST", schedulesPath+"1/run/", nil, 200)
	s := scheduleUntil(t, admin, func(s map[string]any) bool { return s["last_success"] != nil })
	require.NoError(t, n.Stop(t.Context()))

	startWithoutSpace(t, n, st)
	time.Sleep(2500 * time.Millisecond) // the schedule is due and looked at each second
	left, err := os.ReadDir(filepath.Join(dir, "here"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, s["last_file"], left[0].Name())
}

// TestABackupOutlivesItsOwnSchedule has older files whose names look newer, as a clock that was ahead leaves them.
func TestABackupOutlivesItsOwnSchedule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := servertest.Start(t, func(st *settings.Settings) { st.BackupDir = dir })
	atLevel(t, n)
	admin := n.Admin(t)
	for _, name := range []string{"daily-29990101T000000Z-1.backup", "daily-29990102T000000Z-2.backup"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "here"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "here", name), []byte("taken when the clock was ahead"), 0o600))
	}
	admin.Object("POST", schedulesPath, map[string]any{"name": "daily", "when": "6h", "target": "here", "keep": 2}, 201)
	admin.Object("POST", schedulesPath+"1/run/", nil, 200)
	s := scheduleUntil(t, admin, func(s map[string]any) bool { return s["last_run"] != nil })
	require.Empty(t, s["last_error"])
	require.FileExists(t, filepath.Join(dir, "here", s["last_file"].(string)))
	left, err := os.ReadDir(filepath.Join(dir, "here"))
	require.NoError(t, err)
	require.Len(t, left, 2)
}
