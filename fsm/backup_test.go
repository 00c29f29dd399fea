package fsm

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

func backupBytes(t testing.TB, f *FSM) []byte {
	t.Helper()
	var buf bytes.Buffer
	_, err := f.Backup(&buf, BackupOrigin{Cluster: "c", Node: "n", Version: "v", Term: 3, Taken: 99})
	require.NoError(t, err)
	return buf.Bytes()
}

func randomBackup(t testing.TB, seed uint64, entries int) (*FSM, []byte) {
	t.Helper()
	log, _ := randomLog(t, rand.New(rand.NewPCG(seed, 1)), entries)
	m := newTestFSM(t)
	m.ApplyBatch(log)
	return m, backupBytes(t, m)
}

func TestBackupHoldsTheState(t *testing.T) {
	m, raw := randomBackup(t, 11, 200)
	h, s, err := readBackup(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Equal(t, m.State().Hash(), s.Hash())
	require.Equal(t, m.State().Index, h.Index)
	require.Equal(t, "c", h.Cluster)
	require.Equal(t, m.State().Genesis.Cluster.String(), h.Installation)
	require.Equal(t, m.State().identityCount(), h.Identities)
	require.NotZero(t, h.Identities)
	require.NotEmpty(t, h.Tables)

	again, err := ReadBackupHeader(bytes.NewReader(raw[:maxBackupHead/16]))
	require.NoError(t, err)
	require.Equal(t, h, again)
}

func TestBackupNeedsAState(t *testing.T) {
	_, err := newTestFSM(t).Backup(io.Discard, BackupOrigin{})
	require.ErrorIs(t, err, ErrNotBorn)
}

// TestBackupNoticesFlippedBits flips bits at random places, and cuts and
// lengthens the file: each time reading it must be an error.
func TestBackupNoticesFlippedBits(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	_, raw := randomBackup(t, seed, 60)
	for range 1500 {
		i, bit := r.IntN(len(raw)), byte(1)<<r.IntN(8)
		raw[i] ^= bit
		_, err := VerifyBackup(bytes.NewReader(raw))
		require.ErrorIs(t, err, ErrBackup, "byte %d, bit %d", i, bit)
		raw[i] ^= bit
	}
	level := bytes.Index(raw, []byte(chunkMagic)) + len(chunkMagic)
	for raw[level] = BaseLevel; raw[level] < FormatLevel; raw[level]++ {
		_, err := VerifyBackup(bytes.NewReader(raw))
		require.ErrorIs(t, err, ErrBackup, "level %d", raw[level])
		_, err = CheckBackup(bytes.NewReader(raw))
		require.ErrorIs(t, err, ErrBackup, "level %d", raw[level])
	}
	for range 200 {
		n := r.IntN(len(raw))
		_, err := VerifyBackup(bytes.NewReader(raw[:n]))
		require.ErrorIs(t, err, ErrBackup, "cut at %d", n)
	}
	_, err := VerifyBackup(bytes.NewReader(append(bytes.Clone(raw), 0)))
	require.ErrorContains(t, err, "behind its end")
	_, err = VerifyBackup(bytes.NewReader([]byte("PK\x03\x04 this is some other file, of another program")))
	require.ErrorContains(t, err, "not a backup")
	_, err = VerifyBackup(bytes.NewReader(raw))
	require.NoError(t, err)
}

// TestBackupBesideWrites takes backups while entries are applied: each must be
// of one entry, whole.
func TestBackupBesideWrites(t *testing.T) {
	log, _ := randomLog(t, rand.New(rand.NewPCG(12, 1)), 300)
	m := newTestFSM(t)
	m.Apply(log[0])
	second, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i, l := range log[1:] {
			if i == len(log)/2 {
				<-second // the entries must not all be there before the backups begin
			}
			m.ApplyBatch([]*raft.Log{l})
		}
	}()
	for i := 0; ; i++ {
		if i == 1 {
			close(second)
		}
		h, err := VerifyBackup(bytes.NewReader(backupBytes(t, m)))
		require.NoError(t, err)
		require.NotZero(t, h.Index)
		select {
		case <-done:
			return
		default:
		}
	}
}

// FuzzBackup feeds damaged backups to the reader.
func FuzzBackup(f *testing.F) {
	_, raw := randomBackup(f, 13, 40)
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add(raw[:20])
	f.Add(append(raw[:9:9], "\x10\x00\x00\x00crc{}"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		alloc.Bound(t, chunkSize+maxBackupHead+256<<10+8*len(data), func() { _, _ = CheckBackup(bytes.NewReader(data)) })
		_, _ = VerifyBackup(bytes.NewReader(data))
	})
}

func TestFrozenCountsWhatIsNotReleased(t *testing.T) {
	f := newTestFSM(t)
	a, b := f.freeze(), f.freeze()
	require.Equal(t, 2, f.Frozen())
	a.Release()
	a.Release()
	require.Equal(t, 1, f.Frozen())
	b.Release()
	require.Zero(t, f.Frozen())
	_, err := f.Backup(io.Discard, BackupOrigin{})
	require.ErrorIs(t, err, ErrNotBorn)
	require.Zero(t, f.Frozen())
}
