package cluster

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// damagedDir makes a data directory as a node has it after some time: values,
// entries in several pages, a deleted prefix, and a tail.
func damagedDir(t *testing.T) string {
	dir := t.TempDir()
	s, err := openLogStore(dir, 1, func(err error) { t.Error(err) })
	require.NoError(t, err)
	s.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return 3 }, alone: func() bool { return false }})
	require.NoError(t, s.SetUint64([]byte("CurrentTerm"), 1))
	require.NoError(t, s.SetUint64(keyVoteTerm, 1))
	require.NoError(t, s.Set(keyVoteCand, []byte("127.0.0.1:8001")))
	require.NoError(t, s.Set(keyClusterID, []byte("cluster")))
	for lo := uint64(1); lo <= 400; lo += 20 {
		storeRange(t, s, lo, lo+19)
	}
	big := &raft.Log{Index: 401, Term: 1, Type: raft.LogCommand, Data: make([]byte, 9000)} // in overflow pages
	require.NoError(t, s.StoreLog(big))
	require.NoError(t, s.DeleteRange(1, 150))
	require.NoError(t, s.keepCommit(401))
	require.NoError(t, s.close())
	return dir
}

// everything is what the store gives out.
func everything(s *logStore) (map[string]string, error) {
	all := map[string]string{}
	for _, key := range []string{"CurrentTerm", string(keyVoteTerm), string(keyVoteCand), string(keyClusterID), string(keyCommit)} {
		v, err := s.Get([]byte(key))
		all[key] = fmt.Sprintf("%v %v", v, err)
	}
	first, err := s.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := s.LastIndex()
	all["range"] = fmt.Sprint(first, last)
	for at := first; at <= last && err == nil; at++ {
		var l raft.Log
		err = s.GetLog(at, &l)
		all[fmt.Sprint(at)] = fmt.Sprintf("%d %d %v %s %x", l.Index, l.Term, l.Type, l.Data, l.Extensions)
	}
	return all, err
}

// TestDamageOfTheLogIsNoticed flips bits, sets bytes, cuts off and zeroes parts of
// the log file, at random and in what bbolt trusts most. The store either
// refuses with ErrCorrupt or gives out exactly what was stored.
func TestDamageOfTheLogIsNoticed(t *testing.T) {
	t.Parallel()
	dir := damagedDir(t)
	path := filepath.Join(dir, logFileName)
	s, err := openLogStore(dir, 1, func(error) {})
	require.NoError(t, err)
	want, err := everything(s)
	require.NoError(t, err)
	require.NoError(t, s.close())
	sound, err := os.ReadFile(path)
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(7, 11))
	used := len(sound)
	for used > 0 && sound[used-1] == 0 { // bbolt grows the file ahead
		used--
	}
	noticed, harmless := 0, 0
	for trial := range 2500 {
		damaged := slices.Clone(sound)
		what := damage(random, trial, damaged, used)
		if trial%50 == 49 {
			damaged = damaged[:random.IntN(used)]
			what = fmt.Sprint("cut off at ", len(damaged))
		}
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		got, err := tryEverything(dir)
		switch {
		case err != nil:
			require.ErrorIs(t, err, ErrCorrupt, "trial %d: %s", trial, what)
			require.ErrorContains(t, err, logFileName, "trial %d: %s", trial, what)
			noticed++
		default:
			require.True(t, maps.Equal(want, got), "trial %d: %s: another content was given out", trial, what)
			harmless++
		}
	}
	t.Logf("%d of 2500 noticed, %d harmless (in free pages and between elements)", noticed, harmless)
	require.Greater(t, noticed, 500)
}

func damage(random *rand.Rand, trial int, file []byte, used int) string {
	at := random.IntN(used)
	switch trial % 5 {
	case 0: // the heads
		at = random.IntN(2)*4096 + random.IntN(80)
	case 1: // heads of pages and their first elements
		at = random.IntN(used/4096)*4096 + random.IntN(64)
	case 2: // a lost block
		at -= at % 512
		clear(file[at:min(at+512, len(file))])
		return fmt.Sprint("zeroed block at ", at)
	}
	bit := random.IntN(8)
	file[at] ^= 1 << bit
	return fmt.Sprintf("bit %d of byte %d", bit, at)
}

func tryEverything(dir string) (all map[string]string, err error) {
	s, err := openLogStore(dir, 1, func(error) {})
	if err != nil {
		return nil, err
	}
	all, err = everything(s)
	return all, errors.Join(err, s.close())
}
