package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster/certs"
	"github.com/flagraft/flagraft/server/doctor"
	"github.com/flagraft/flagraft/server/servertest"
)

// examine runs doctor on free ports and gives its findings by check.
func examine(t *testing.T, args ...string) (map[string]doctor.Finding, int) {
	t.Helper()
	all := append([]string{"doctor", "-o", "json", "--data-dir", filepath.Join(t.TempDir(), "not", "there", "yet")}, args...)
	for _, flag := range []string{"--api-addr", "--cluster-addr", "--gossip-addr", "--management-addr"} {
		if !strings.Contains(strings.Join(args, " "), flag) {
			all = append(all, flag, freeAddress(t))
		}
	}
	text, code := runOutput(t, all...)
	var list []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(text), &list), text)
	out := map[string]doctor.Finding{}
	for _, f := range list {
		out[f.Check] = f
		if f.Status == doctor.Warning || f.Status == doctor.Problem {
			require.NotEmpty(t, f.Advice, f.Check)
		}
	}
	return out, code
}

// runOutput runs the whole command line and returns standard output and the exit code.
func runOutput(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	root := newRootCommand()
	root.SetOut(&out)
	root.SetErr(&strings.Builder{})
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), exitCode(err)
}

func TestDoctorBeforeTheFirstStart(t *testing.T) {
	found, code := examine(t, "--memory-limit", "512MiB", "--min-free-disk-mb", "1")
	require.Zero(t, code, found)
	for _, check := range []string{"settings", "memory limit", "disk space", "port api-addr", "port cluster-addr", "port gossip-addr", "port management-addr"} {
		require.Equal(t, doctor.OK, found[check].Status, "%v", found[check])
	}
	require.Contains(t, found["disk speed"].Found, "a synced write takes")
	require.Equal(t, doctor.Skipped, found["members"].Status)
}

func TestDoctorFindsProblems(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, c := range map[string]struct {
		args  []string
		check string
		text  string
	}{
		"a port that is taken":      {[]string{"--api-addr", taken.Addr().String()}, "port api-addr", "is taken"},
		"a foreign address":         {[]string{"--api-addr", "192.0.2.1:80"}, "port api-addr", ""},
		"no secret":                 {[]string{"--cluster-addr", "0.0.0.0:0"}, "settings", "secret"},
		"a full disk":               {[]string{"--min-free-disk-mb", "999999999"}, "disk space", "free of"},
		"no memory limit":           {[]string{"--memory-limit", "plenty"}, "memory limit", "plenty"},
		"no certificate":            {[]string{"--tls-cert", "nowhere", "--tls-key", "nowhere"}, "API certificate", "nowhere"},
		"no certificates of nodes":  {[]string{"--cluster-ca", "a", "--cluster-cert", "b", "--cluster-key", "c"}, "cluster certificate", "a"},
		"settings that cannot load": {[]string{"--log-level", "loud"}, "settings", "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			found, code := examine(t, c.args...)
			require.Equal(t, 4, code)
			require.Equal(t, doctor.Problem, found[c.check].Status, "%v", found)
			require.Contains(t, found[c.check].Found, c.text)
		})
	}
}

func TestDoctorReadsCertificates(t *testing.T) {
	now := time.Now()
	ca, err := certs.NewAuthority("flagraft", now, 365*24*time.Hour)
	require.NoError(t, err)
	dir := t.TempDir()
	issue := func(name string, lifetime time.Duration, at time.Time) (cert, key string) {
		p, err := ca.Issue(certs.Request{Name: name, Hosts: []string{"flags.example.com"}, Lifetime: lifetime}, at)
		require.NoError(t, err)
		text, err := p.KeyPEM()
		require.NoError(t, err)
		cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
		require.NoError(t, os.WriteFile(cert, p.CertificatePEM(), 0o600))
		require.NoError(t, os.WriteFile(key, text, 0o600))
		return cert, key
	}
	for i, c := range []struct {
		lifetime time.Duration
		at       time.Time
		url      string
		status   doctor.Status
	}{
		{100 * 24 * time.Hour, now, "https://flags.example.com", doctor.OK},
		{100 * 24 * time.Hour, now, "https://other.example.com", doctor.Warning},
		{5 * 24 * time.Hour, now, "", doctor.Warning},
		{24 * time.Hour, now.Add(-48 * time.Hour), "", doctor.Problem},
	} {
		cert, key := issue(fmt.Sprint("c", i), c.lifetime, c.at)
		found, _ := examine(t, "--tls-cert", cert, "--tls-key", key, "--public-url", c.url)
		require.Equal(t, c.status, found["API certificate"].Status, "%d: %v", i, found["API certificate"])
	}
}

func TestDoctorBesideARunningCluster(t *testing.T) {
	nodes := servertest.Cluster(t, 3)
	n := nodes[0]
	found, code := examine(t, "--management-addr", n.ManagementAddr(), "--api-addr", strings.TrimPrefix(n.Base, "http://"), "--cluster-addr", n.ClusterAddr(), "--gossip-addr", "",
		"--cluster-secret", "secret", "--min-free-disk-mb", "1")
	require.Zero(t, code, "%v", found)
	require.Contains(t, found["node"].Found, "ready: true")
	require.Contains(t, found["port api-addr"].Found, "while the node runs")
	members := 0
	for check, f := range found {
		if strings.HasPrefix(check, "member ") {
			require.Equal(t, doctor.OK, f.Status, "%v", f)
			members++
		}
	}
	require.Equal(t, 2, members)
	down, _ := examine(t, "--join", freeAddress(t), "--memory-limit", "off")
	for check, f := range down {
		if strings.HasPrefix(check, "member ") {
			require.Equal(t, doctor.Warning, f.Status)
		}
	}
	require.Equal(t, doctor.Skipped, down["clock"].Status)
}

func TestDoctorComparesClocks(t *testing.T) {
	var ahead time.Duration
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	t.Cleanup(other.Close)
	_, port, err := net.SplitHostPort(other.Listener.Addr().String())
	require.NoError(t, err)
	for _, c := range []struct {
		ahead  time.Duration
		status doctor.Status
	}{{0, doctor.OK}, {10 * time.Second, doctor.Warning}, {-time.Hour, doctor.Problem}} {
		ahead = c.ahead
		// Before the start the other node is looked for on its host, at our own port.
		found, _ := examine(t, "--api-addr", "127.0.0.2:"+port, "--join", "127.0.0.1:1")
		require.Equal(t, c.status, found["clock against 127.0.0.1:"+port].Status, "%v", found)
	}
}

func TestDoctorAsATable(t *testing.T) {
	text, code := runOutput(t, "doctor", "--data-dir", t.TempDir(), "--api-addr", "192.0.2.1:80", "--management-addr", freeAddress(t))
	require.Equal(t, 4, code)
	require.Regexp(t, `problem +port api-addr +`, text)
	require.Contains(t, text, "→ --api-addr must be an address of this machine")
}
