package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const threeMembers = `{"cluster_id":"c1","node":"aaaa1","from_leader":true,"leader":"aaaa1","term":2,"commit_index":9,"healthy":%s,"failure_tolerance":1,"members":[
 {"id":"bbbb2","address":"h2:8001","api":"h2:8000","version":"1","role":"voter","ready":true,"healthy":%s,"applied_index":7},
 {"id":"aaaa1","address":"h1:8001","api":"h1:8000","version":"1","role":"leader","ready":true,"healthy":true,"applied_index":9},
 {"id":"aabb3","address":"h3:8001","api":"","version":"","role":"read-replica","ready":false,"healthy":true,"applied_index":0}]}`

// runCluster runs `flagraft cluster` against a server and returns its output and exit code.
func runCluster(t *testing.T, url string, args ...string) (string, int) {
	t.Helper()
	t.Setenv("FLAGRAFT_TOKEN", "secret")
	cmd := newClusterCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(args, "--url", url))
	err := cmd.Execute()
	var coded *codedError
	switch {
	case err == nil:
		return out.String(), 0
	case errors.As(err, &coded):
		return out.String() + err.Error(), coded.code
	}
	return out.String() + err.Error(), 1
}

// fakeNode answers the cluster's rows and notes what it was asked.
func fakeNode(t *testing.T, health string) (url string, asked *[]string) {
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+body.String()))
		switch {
		case r.Header.Get("Authorization") != "Token secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == "GET":
			_, _ = w.Write([]byte(strings.ReplaceAll(threeMembers, "%s", health)))
		case r.Method == "DELETE" && strings.HasSuffix(r.URL.Path, "aaaa1/"):
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"detail":"no majority"}`))
		case r.Method == "DELETE":
			w.WriteHeader(http.StatusNoContent)
		case r.Method == "POST":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"No leader"}`))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestClusterStatusIsATableAndAnExitCode(t *testing.T) {
	url, _ := fakeNode(t, "true")
	out, code := runCluster(t, url, "status")
	require.Zero(t, code, out)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 10)
	require.Contains(t, out, "health   healthy, 1 more voters may fail\n")
	at := strings.Index(lines[6], "ROLE")
	for i, want := range map[int]string{7: "leader  ", 8: "read-replica  ", 9: "voter  "} {
		require.Equal(t, want, lines[i][at:at+len(want)], "aligned")
	}
	url, _ = fakeNode(t, "false")
	out, code = runCluster(t, url, "status")
	require.Equal(t, exitUnhealthy, code)
	require.Contains(t, out, "FAILING")
	out, code = runCluster(t, url, "status", "-o", "json")
	require.Equal(t, exitUnhealthy, code)
	var s clusterStatus
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&s))
	require.Len(t, s.Members, 3)
}

func TestClusterChangesNameTheirMember(t *testing.T) {
	url, asked := fakeNode(t, "true")
	for _, name := range []string{"bbbb2", "bb", "h2:8001", "h2:8000"} {
		out, code := runCluster(t, url, "remove", name)
		require.Zero(t, code, out)
		require.Equal(t, "DELETE /api/flagraft/v1/cluster/members/bbbb2/", (*asked)[len(*asked)-1])
	}
	out, code := runCluster(t, url, "remove", "aa")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "2 members")
	out, code = runCluster(t, url, "remove", "aaaa1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "no majority")
	_, code = runCluster(t, url, "transfer", "h2:8001")
	require.Equal(t, exitUnreachable, code)
	require.Equal(t, `POST /api/flagraft/v1/cluster/transfer/ {"node":"bbbb2"}`, (*asked)[len(*asked)-1])
}

func TestClusterExitCodesOfWrongUseAndSilence(t *testing.T) {
	url, _ := fakeNode(t, "true")
	for _, args := range [][]string{{"remove"}, {"status", "x"}, {"status", "-o", "xml"}, {"status", "--nonsense"}, {"transfer", "a", "b"}, {"join"},
		{"recover", "--member", "x", "--yes"}, {"recover", "--peers", "/nowhere/peers.json"}, {"recover", "--member", "x=10.0.0.1", "--yes"},
		{"recover", "--member", "x=:8001", "--yes"}, {"recover", "--member", "x=10.0.0.1:80010", "--yes"}} {
		out, code := runCluster(t, url, args...)
		require.Equal(t, exitUsage, code, "%v: %s", args, out)
	}
	_, code := runCluster(t, "http://127.0.0.1:1", "status")
	require.Equal(t, exitUnreachable, code)
	_, code = runCluster(t, url, "recover", "--data-dir", t.TempDir())
	require.Equal(t, exitFailed, code)
}
