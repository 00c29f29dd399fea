package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// restorable is a cluster with one flag, and what the tests of a restore look at.
type restorable struct {
	nodes   []*servertest.Node
	admin   *servertest.Client
	key     string
	feature string // path of its state
}

func newRestorable(t *testing.T, nodes []*servertest.Node) *restorable {
	t.Helper()
	r := &restorable{nodes: nodes, admin: nodes[0].Admin(t)}
	organisation := r.admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "o"}, 201)["id"]
	project := r.admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "p", "organisation": organisation}, 201)["id"]
	r.key = r.admin.Object("POST", "/api/v1/environments/", map[string]any{"name": "e", "project": project}, 201)["api_key"].(string)
	r.admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "f", "initial_value": "one"}, 201)
	states := r.admin.Object("GET", "/api/v1/environments/"+r.key+"/featurestates/", nil, 200)["results"].([]any)
	r.feature = fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", r.key, states[0].(map[string]any)["id"])
	return r
}

func (r *restorable) set(t *testing.T, value string) {
	t.Helper()
	r.admin.Object("PATCH", r.feature, map[string]any{"feature_state_value": value}, 200)
}

// shown is the flag's value as a node serves it, and when the environment was changed.
func (r *restorable) shown(t *testing.T, n *servertest.Node) (value, updated string) {
	t.Helper()
	a := n.Client(t).With("X-Environment-Key", r.key).Do("GET", "/api/v1/flags/", nil)
	if a.Status != 200 {
		return fmt.Sprint(a.Status, a.Raw), ""
	}
	_, rest, _ := strings.Cut(a.Raw, `"feature_state_value":"`)
	value, _, _ = strings.Cut(rest, `"`)
	return value, a.Header.Get("X-Flagsmith-Document-Updated-At")
}

func (r *restorable) everywhere(t *testing.T, want string) {
	t.Helper()
	for i, n := range r.nodes {
		require.Eventually(t, func() bool { got, _ := r.shown(t, n); return got == want }, 20*time.Second, 10*time.Millisecond, "node %d does not show %s", i, want)
	}
}

func (r *restorable) sameState(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		a := r.nodes[0].State()
		for _, n := range r.nodes[1:] {
			if b := n.State(); b.Index != a.Index || b.Hash() != a.Hash() {
				return false
			}
		}
		return true
	}, 20*time.Second, 10*time.Millisecond, "the nodes' states differ")
}

func level2(t *testing.T, n *servertest.Node) {
	t.Helper()
	require.Eventually(t, func() bool { return n.State().Level() >= fsm.RestoreLevel }, 20*time.Second, 10*time.Millisecond)
}

// TestRestoreIntoARunningCluster goes back to an older backup through a follower, over HTTP; the tokens, times and states are as they must be
// on every node, and writes go on.
func TestRestoreIntoARunningCluster(t *testing.T) {
	t.Parallel()
	r := newRestorable(t, servertest.Cluster(t, 3))
	level2(t, r.nodes[0])
	backup := r.nodes[1].Admin(t).Do("GET", backupPath, nil).Raw
	r.set(t, "two")
	r.everywhere(t, "two")
	_, before := r.shown(t, r.nodes[0])
	old := r.nodes[0].State()
	oldToken := fmt.Sprintf("%s-%d", old.Genesis.Epoch, old.Index+1_000_000)

	c := r.nodes[2].Admin(t)
	base := "/api/flagraft/v1/restores/" + uuid.NewString() + "/"
	refused := c.Do("PUT", base+"parts/0/", backup)
	require.Equal(t, 409, refused.Status, refused.Raw)
	half := len(backup) / 2
	require.Equal(t, float64(half), c.Object("PUT", base+"parts/0/?force=true", backup[:half], 200)["received"])
	require.Equal(t, float64(half), r.nodes[1].Admin(t).Object("PUT", base+"parts/0/?force=true", backup[:half], 200)["received"], "sent again")
	require.Equal(t, 409, c.Do("PUT", base+fmt.Sprintf("parts/%d/?force=true", half+1), backup[half+1:]).Status)
	require.Equal(t, 400, c.Do("POST", base+"apply/?force=true", nil).Status)
	c.Object("PUT", base+fmt.Sprintf("parts/%d/?force=true", half), backup[half:], 200)
	apply := base + fmt.Sprintf("apply/?force=true&bytes=%d", len(backup))
	done := c.Object("POST", apply, nil, 200)
	got, updated := r.shown(t, r.nodes[2])
	require.Equal(t, "one", got, "the node that took the restore shows it")
	require.Greater(t, updated, before)
	r.everywhere(t, "one")
	r.sameState(t)
	require.NotEqual(t, old.Genesis.Epoch, done["epoch"])
	require.Equal(t, done["epoch"], r.nodes[0].State().Genesis.Epoch)
	require.Equal(t, done["epoch"], c.Object("POST", apply, nil, 200)["epoch"], "the switch may be asked for again")
	require.Greater(t, r.nodes[0].State().Index, old.Index)

	// A token of before is none; waiting for its index would last for ever.
	require.Equal(t, 200, c.With("Flagraft-Min-Index", oldToken).Do("GET", "/api/v1/organisations/", nil).Status)
	r.set(t, "three")
	r.everywhere(t, "three")
	r.sameState(t)
}

// TestRestoreWhereBodiesAreSmall takes parts of the size that the command sends, whatever other bodies may have: of anybody who brings credentials.
func TestRestoreWhereBodiesAreSmall(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxBodyBytes = 100_000 })
	level2(t, n)
	part := strings.Repeat("x", 512<<10)
	path := "/api/flagraft/v1/restores/" + uuid.NewString() + "/parts/0/?force=true"
	require.Equal(t, float64(len(part)), n.Admin(t).Object("PUT", path, part, 200)["received"])
	require.Equal(t, 413, n.Admin(t).Do("PUT", path, part+"x").Status)
	require.Equal(t, 413, n.Client(t).Do("PUT", path, part).Status)
	require.Equal(t, 413, n.Admin(t).Do("POST", "/api/v1/organisations/", part).Status)
}

// TestRestoreWithoutALeader is answered as soon as a write is; it was after five minutes.
func TestRestoreWithoutALeader(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 2, func(st *settings.Settings) { st.LeaderTimeout = 300 * time.Millisecond })
	level2(t, nodes[0])
	c := nodes[0].Admin(t)
	backup := c.Do("GET", backupPath, nil).Raw
	require.NoError(t, nodes[1].Stop(t.Context()))
	a := c.Do("PUT", "/api/flagraft/v1/restores/"+uuid.NewString()+"/parts/0/?force=true", backup)
	require.Equal(t, 503, a.Status, a.Raw)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
}

// TestRestoreRefusesBadBackups over HTTP: nothing changes.
func TestRestoreRefusesBadBackups(t *testing.T) {
	r := newRestorable(t, []*servertest.Node{servertest.Start(t)})
	level2(t, r.nodes[0])
	hash := func() [2]any { return [2]any{r.nodes[0].State().Genesis, r.nodes[0].State().Seq} }
	want := hash()
	send := func(data string) servertest.Answer {
		base := "/api/flagraft/v1/restores/" + uuid.NewString() + "/"
		r.admin.Object("PUT", base+"parts/0/?force=true", data, 200)
		return r.admin.Do("POST", base+fmt.Sprintf("apply/?force=true&bytes=%d", len(data)), nil)
	}
	backup := r.admin.Do("GET", backupPath, nil).Raw
	for name, data := range map[string]string{"foreign": "not a backup at all", "cut": backup[:len(backup)-3], "longer": backup + "x"} {
		a := send(data)
		require.Equal(t, 400, a.Status, name)
		require.Contains(t, a.Raw, "backup is not readable", name)
	}
	require.Equal(t, want, hash())
	require.Equal(t, 404, r.admin.Do("PUT", "/api/flagraft/v1/restores/no-uuid/parts/0/", "x").Status)
}

// TestRestoredNodesRestart has a follower away during the restore and then restarts every node: each comes to the same state.
func TestRestoredNodesRestart(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	next := 0
	nodes := servertest.Cluster(t, 3, func(st *settings.Settings) { st.DataDir = dirs[next]; next++ })
	r := newRestorable(t, nodes)
	level2(t, nodes[0])
	var backup bytes.Buffer
	_, err := nodes[0].WriteBackup(&backup)
	require.NoError(t, err)
	r.set(t, "two")
	r.everywhere(t, "two")

	away := nodes[2]
	restart := away.Relauncher(t)
	stop(t, away)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = nodes[1].Restore(ctx, bytes.NewReader(backup.Bytes()), true, fsm.Author{Name: "test"})
	require.NoError(t, err)
	r.nodes = nodes[:2]
	r.everywhere(t, "one")
	r.set(t, "three")
	nodes[2] = restart()
	r.nodes = nodes
	r.everywhere(t, "three")
	r.sameState(t)
	want := nodes[0].State()
	for i := range nodes {
		restart := nodes[i].Relauncher(t)
		stop(t, nodes[i])
		nodes[i] = restart()
		require.Eventually(t, nodes[i].Ready, 20*time.Second, 10*time.Millisecond)
		require.Equal(t, want.Genesis, nodes[i].State().Genesis)
	}
	r.everywhere(t, "three")
	r.sameState(t)
}

func stop(t *testing.T, n *servertest.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(t, n.Stop(ctx))
}

// TestNewInstallationStartsFromABackup gives a new node a file; it founds nothing else, and does so once.
func TestNewInstallationStartsFromABackup(t *testing.T) {
	source := newRestorable(t, []*servertest.Node{servertest.Start(t)})
	level2(t, source.nodes[0])
	var backup bytes.Buffer
	_, err := source.nodes[0].WriteBackup(&backup)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "b.backup")
	require.NoError(t, os.WriteFile(file, backup.Bytes(), 0o600))
	from := func(st *settings.Settings) { st.RestoreFrom, st.Demo, st.AdminEmail = file, true, "" }
	n := servertest.Launch(t, from)
	require.Eventually(t, n.Ready, 20*time.Second, 10*time.Millisecond)
	got, _ := source.shown(t, n)
	require.Equal(t, "one", got)
	n.Token(t) // the backup's account
	require.Equal(t, source.nodes[0].State().Genesis.Seed, n.State().Genesis.Seed)

	source.nodes, source.admin = []*servertest.Node{n}, n.Admin(t)
	source.set(t, "later")
	restart := n.Relauncher(t)
	stop(t, n)
	n = restart()
	require.Eventually(t, n.Ready, 20*time.Second, 10*time.Millisecond)
	got, _ = source.shown(t, n)
	require.Equal(t, "later", got, "the file is not restored again")
}

// TestANodeThatWasToStartFromABackupDoesNotStartWithout: it was killed before the backup was there, and would begin as an empty installation.
func TestANodeThatWasToStartFromABackupDoesNotStartWithout(t *testing.T) {
	t.Parallel()
	var st *settings.Settings
	source := servertest.Start(t, func(s *settings.Settings) { st = s })
	level2(t, source)
	var backup bytes.Buffer
	_, err := source.WriteBackup(&backup)
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "b.backup")
	require.NoError(t, os.WriteFile(file, backup.Bytes(), 0o600))
	cut := *st
	cut.DataDir, cut.APIAddr, cut.ManagementAddr, cut.ClusterAddr, cut.GossipAddr = filepath.Join(dir, "data"), "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cut.AdminEmail, cut.AdminPassword, cut.BootstrapExpect = "", "", 3 // the others never come, and nothing is restored
	start := func(from string) error {
		again := cut
		again.RestoreFrom = from
		n := server.New(&again, server.Build{}, slog.New(slog.DiscardHandler))
		if err := n.Start(t.Context()); err != nil {
			return err
		}
		stop(t, &servertest.Node{Node: n})
		return nil
	}
	require.NoError(t, start(file))
	require.ErrorContains(t, start(""), "start it with --restore-from again")
	require.NoError(t, start(file))
	require.NoError(t, os.Remove(filepath.Join(cut.DataDir, "restoring")))
	require.NoError(t, start(""))
}

// TestANodeIsRecoveredThatARestoreWasUnderWayOn: its parts are in the log alone, which becomes a snapshot. Only that restore is lost.
func TestANodeIsRecoveredThatARestoreWasUnderWayOn(t *testing.T) {
	t.Parallel()
	var st *settings.Settings
	n := servertest.Start(t, func(s *settings.Settings) { st = s })
	level2(t, n)
	r := newRestorable(t, []*servertest.Node{n})
	backup := r.admin.Do("GET", backupPath, nil).Raw
	r.set(t, "two")
	path := "/api/flagraft/v1/restores/" + uuid.NewString() + "/parts/"
	require.Equal(t, 200, r.admin.Do("PUT", path+"0/?force=true", backup[:100]).Status)
	again := n.Relauncher(t)
	require.NoError(t, n.Stop(t.Context()))

	stopped, err := server.OpenRecovery(st.DataDir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = stopped.Recover(nil)
	require.NoError(t, err)
	require.NoError(t, stopped.Close())

	n = again()
	n.WaitReady(t)
	r.nodes, r.admin = []*servertest.Node{n}, n.Admin(t)
	r.everywhere(t, "two")
	require.Equal(t, 409, r.admin.Do("PUT", path+"100/?force=true", backup[100:]).Status)
	r.set(t, "three")
	r.everywhere(t, "three")
}

// TestAPlanOfARecoveryIsOneThatItWouldTake: people look at it before they go on.
func TestAPlanOfARecoveryIsOneThatItWouldTake(t *testing.T) {
	t.Parallel()
	var st *settings.Settings
	n := servertest.Start(t, func(s *settings.Settings) { st = s })
	require.NoError(t, n.Stop(t.Context()))
	stopped, err := server.OpenRecovery(st.DataDir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, stopped.Close()) }()
	survey, err := stopped.Survey()
	require.NoError(t, err)
	self, other := survey.Members[0], server.RecoveryMember{ID: "other", Address: "127.0.0.1:1"}
	plan, err := stopped.Plan([]server.RecoveryMember{self, other})
	require.NoError(t, err)
	require.Equal(t, []server.RecoveryMember{self, other}, plan)
	for _, list := range [][]server.RecoveryMember{{other}, {self, self}, {self, {ID: "other", Address: self.Address}}, {{ID: self.ID, Address: self.Address, NonVoter: true}}} {
		_, err := stopped.Plan(list)
		require.Error(t, err, "%v", list)
	}
}

// TestAReadOnlyClusterRefusesRestoresAndImports as it refuses other writes: surely nothing was written, and the reason is the disk.
func TestAReadOnlyClusterRefusesRestoresAndImports(t *testing.T) {
	t.Parallel()
	var st *settings.Settings
	n := servertest.Start(t, func(s *settings.Settings) { st = s })
	level2(t, n)
	r := newRestorable(t, []*servertest.Node{n})
	backup, token := r.admin.Do("GET", backupPath, nil).Raw, n.Token(t)
	export := r.admin.Do("GET", "/api/flagraft/v1/export/", nil).Raw
	require.NoError(t, n.Stop(t.Context()))

	admin := startWithoutSpace(t, n, st).Client(t).With("Authorization", "Token "+token)
	for _, a := range []servertest.Answer{
		admin.Do("PUT", "/api/flagraft/v1/restores/"+uuid.NewString()+"/parts/0/?force=true", backup),
		admin.Do("POST", "/api/flagraft/v1/import/", strings.ReplaceAll(export, `"name": "p"`, `"name": "q"`)),
	} {
		require.Equal(t, 507, a.Status, a.Raw)
		require.Contains(t, a.Raw, "read-only")
		require.Equal(t, "10", a.Header.Get("Retry-After"))
	}
}
