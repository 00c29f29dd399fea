package cluster

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

// gossiping waits until every member sees every other one by gossip.
func gossiping(t *testing.T, members ...*member) {
	t.Helper()
	eventually(t, func() bool {
		for _, m := range members {
			seen := map[string]bool{}
			for _, p := range m.node.gossip.peers() {
				seen[p.ID] = true
			}
			for _, other := range members {
				if other != m && !seen[other.node.ID()] {
					return false
				}
			}
		}
		return true
	})
}

func TestGossipKeysRotate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, secure := range map[string]func(*Config){
		"secret":       func(c *Config) { c.Secret = "a secret that is long enough" },
		"certificates": func(c *Config) { c.TLS = goodFiles(t, ca) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := startTrio(t, func(_ int, c *Config) {
				secure(c)
				c.GossipAddr, c.Timing.GossipKeys = "127.0.0.1:0", 50*time.Millisecond
			})
			for _, m := range members {
				m.cfg.GossipAddr = m.node.gossip.address() // it comes back there
			}
			gossiping(t, members...)
			ctx := patient(t)
			asked := members[0].node // whoever leads
			before, err := asked.GossipKeys(ctx)
			require.NoError(t, err)
			require.Len(t, before.Keys, 1)

			// One is away while the key changes, from beginning to end.
			away := members[2]
			if away.node.IsLeader() {
				away, members[1] = members[1], members[2]
			}
			here := []*member{members[0], members[1]}
			away.stop()
			installed, err := asked.InstallGossipKey(ctx)
			require.NoError(t, err)
			require.Len(t, installed.Keys, 2)
			require.Equal(t, before.Keys[0], installed.Keys[0])
			used, err := asked.UseGossipKey(ctx, installed.Keys[1])
			require.NoError(t, err)
			require.Equal(t, []string{installed.Keys[1], installed.Keys[0]}, used.Keys)
			_, err = asked.RemoveGossipKey(ctx, used.Keys[0])
			require.ErrorContains(t, err, "this key encrypts")
			after, err := asked.RemoveGossipKey(ctx, before.Keys[0])
			require.NoError(t, err)
			require.Equal(t, used.Keys[:1], after.Keys)
			_, err = asked.UseGossipKey(ctx, before.Keys[0])
			require.ErrorContains(t, err, "no gossip key is called")
			problems := 0
			for _, m := range after.Members {
				if !m.Current {
					problems++
					require.NotEmpty(t, m.Problem)
				}
			}
			require.Equal(t, 1, problems, "the one that is away")
			gossiping(t, here...)
			for _, m := range here {
				eventually(t, func() bool { return len(m.node.keys.live.GetKeys()) == 1 })
			}

			away.start()
			gossiping(t, append(here, away)...)
			require.Equal(t, after.Keys[0], keyID(away.node.keys.live.GetPrimaryKey()))
			require.Len(t, away.node.keys.live.GetKeys(), 1)
			info, err := os.Stat(filepath.Join(away.cfg.DataDir, keyringFileName))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

			// A new node gets the ring, too.
			fresh := newMember(t, func(c *Config) {
				secure(c)
				c.GossipAddr, c.Timing.GossipKeys = "127.0.0.1:0", 50*time.Millisecond
				c.Join, c.NonVoter = []string{members[0].cfg.ClusterAddr}, true
			}).start()
			waitReady(t, fresh)
			gossiping(t, append(here, away, fresh)...)
		})
	}
}

func TestGossipKeysAreRefusedWhereGossipIsOpen(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	_, err := m.node.InstallGossipKey(patient(t))
	require.ErrorContains(t, err, "neither a secret nor certificates")
}

func TestRingsAreOrderedAndBounded(t *testing.T) {
	t.Parallel()
	keys, err := deriveKeys("s3cret", defaultClusterName)
	require.NoError(t, err)
	dir := t.TempDir()
	open := func() *keyring {
		k, err := openKeyring(dir, keys, false)
		require.NoError(t, err)
		return k
	}
	k := open()
	ring := func(term, count uint64, n int) gossipRing {
		r := gossipRing{Term: term, Count: count}
		for range n {
			r.Keys = append(r.Keys, newGossipKey())
		}
		return r
	}
	newest := ring(3, 2, 3)
	for _, c := range []struct {
		ring  gossipRing
		newer bool
	}{{ring(3, 1, 1), true}, {newest, true}, {ring(3, 2, 1), false}, {ring(2, 9, 1), false}} {
		newer, err := k.adopt(c.ring)
		require.NoError(t, err)
		require.Equal(t, c.newer, newer)
	}
	require.Equal(t, newest.Keys, k.live.GetKeys())
	require.Equal(t, newest, open().current(), "it is on disk")
	for _, bad := range []gossipRing{ring(9, 9, 0), ring(9, 9, maxGossipKeys+1), {Term: 9, Keys: [][]byte{[]byte("short")}}} {
		_, err := k.adopt(bad)
		require.Error(t, err)
	}
	sealed, err := k.encode(newest)
	require.NoError(t, err)
	require.False(t, bytes.Contains(sealed, newest.Keys[0]), "not readable on a connection without TLS")
	got, err := k.decode(sealed)
	require.NoError(t, err)
	require.Equal(t, newest, got)
	sealed[len(sealed)-1] ^= 1
	_, err = k.decode(sealed)
	require.ErrorIs(t, err, errSealed)

	require.NoError(t, os.WriteFile(k.path, []byte(`{"term":3,"count":2,"keys":[]}`), 0o600))
	_, err = openKeyring(dir, keys, false)
	require.ErrorIs(t, err, ErrCorrupt)
}

// Readers go on while keys change (for the race detector).
func TestKeysChangeUnderReaders(t *testing.T) {
	t.Parallel()
	keys, err := deriveKeys("s3cret", defaultClusterName)
	require.NoError(t, err)
	k, err := openKeyring(t.TempDir(), keys, false)
	require.NoError(t, err)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, key := range k.live.GetKeys() {
					_ = keyID(key)
				}
			}
		}
	})
	held := [][]byte{newGossipKey(), newGossipKey(), newGossipKey(), newGossipKey()}
	for i := range 50 {
		r := gossipRing{Term: 1, Count: uint64(i + 1), Keys: [][]byte{held[i%4], held[(i+1)%4]}}
		if i%3 == 0 {
			r.Keys = held
		}
		newer, err := k.adopt(r)
		require.NoError(t, err)
		require.True(t, newer)
		require.Equal(t, r.Keys, k.live.GetKeys())
	}
	close(stop)
	readers.Wait()
}

// impostor is a gossip node of an attacker that knows the key, if any is given.
func impostor(t *testing.T, name string, key []byte, meta []byte) *memberlist.Memberlist {
	t.Helper()
	conf := memberlist.DefaultLANConfig()
	conf.Name, conf.BindAddr, conf.BindPort, conf.AdvertisePort = name, "127.0.0.1", 0, 0
	conf.SecretKey, conf.LogOutput, conf.Delegate = key, &bytes.Buffer{}, fakeDelegate{meta}
	list, err := memberlist.Create(conf)
	require.NoError(t, err)
	t.Cleanup(func() { list.Shutdown() })
	return list
}

type fakeDelegate struct{ meta []byte }

func (d fakeDelegate) NodeMeta(int) []byte           { return d.meta }
func (fakeDelegate) NotifyMsg([]byte)                {}
func (fakeDelegate) GetBroadcasts(int, int) [][]byte { return nil }
func (fakeDelegate) LocalState(bool) []byte          { return nil }
func (fakeDelegate) MergeRemoteState([]byte, bool)   {}

// Forged gossip changes nothing: packets under another key are not read, and
// what is said under the right one is a hint that no proof follows.
func TestForgedGossipChangesNothing(t *testing.T) {
	t.Parallel()
	const secret = "a secret that is long enough"
	books := [3]*logBook{{}, {}, {}}
	members := startTrio(t, func(i int, c *Config) {
		c.Secret, c.GossipAddr, c.Logger = secret, "127.0.0.1:0", books[i].logger()
	})
	gossiping(t, members...)
	configuration := func() string {
		var lines []string
		for _, s := range members[0].node.servers() {
			lines = append(lines, fmt.Sprint(s))
		}
		return strings.Join(lines, "\n")
	}
	before := configuration()
	target := members[0].node.gossip.address()

	stranger := impostor(t, "stranger", newGossipKey(), nil)
	_, err := stranger.Join([]string{target})
	require.Error(t, err)
	books[0].says(t, "level=WARN msg=\"gossip refused\"")
	open := impostor(t, "without a key", nil, nil)
	_, err = open.Join([]string{target})
	require.Error(t, err)

	// A thief of the key: claims to be a member elsewhere, to be the cluster, and talks rubbish.
	keys, err := deriveKeys(secret, defaultClusterName)
	require.NoError(t, err)
	victim := members[1].node
	lie := encodeMeta(peerInfo{ID: victim.ID(), Address: "127.0.0.1:1", ClusterID: "ffffffff", Formed: true, Expect: 1}, memberlist.MetaMaxSize)
	for name, meta := range map[string][]byte{
		victim.ID(): lie, "ghost": lie, "rubbish": bytes.Repeat([]byte{0xff}, memberlist.MetaMaxSize), "nothing": nil,
	} {
		list := impostor(t, name, keys.gossip, meta)
		list.Join([]string{target}) // a name that is taken may be refused
	}
	eventually(t, func() bool {
		for _, p := range members[0].node.gossip.peers() {
			if p.ID == "ghost" {
				return true
			}
		}
		return false
	})
	for i := range 20 { // discovery follows the hints and meets nobody
		members[0].node.lookAround(patient(t))
		index := committedIndex(t, fmt.Sprint("still ", i), members...)
		for _, m := range members {
			m.fsm.wait(t, index)
		}
	}
	require.Equal(t, before, configuration())
	for _, m := range members {
		require.Len(t, m.node.Members(), 3)
		require.True(t, m.node.Ready())
	}
	require.Equal(t, members[1].cfg.ClusterAddr, members[0].node.addressOf(victim.ID()), "calls go where the configuration says")
}

func FuzzGossipRing(f *testing.F) {
	keys, err := deriveKeys("s3cret", defaultClusterName)
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := openKeyring(f.TempDir(), keys, false)
	if err != nil {
		f.Fatal(err)
	}
	plain, err := openKeyring(f.TempDir(), secretKeys{}, true)
	if err != nil {
		f.Fatal(err)
	}
	for _, k := range []*keyring{sealed, plain} {
		raw, err := k.encode(gossipRing{Term: 1, Count: 2, Keys: [][]byte{newGossipKey()}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, k := range []*keyring{sealed, plain} {
			var r gossipRing
			var err error
			alloc.Bound(t, 64<<10+1000*len(raw), func() { r, err = k.decode(raw) })
			if err == nil && r.check() != nil {
				t.Fatal("a ring that cannot be used")
			}
		}
	})
}
