package cluster

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

// soundFile is a log file with branches, pages of several kinds and free pages.
func soundFile(f *testing.F) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), "sound.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 1024, NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	for round := range 3 {
		err := db.Update(func(tx *bbolt.Tx) error {
			conf, err := tx.CreateBucketIfNotExists(bucketConf)
			if err != nil {
				return err
			}
			logs, err := tx.CreateBucketIfNotExists(bucketLogs)
			if err != nil {
				return err
			}
			for i := range 40 {
				key := binary.BigEndian.AppendUint64(nil, uint64(40*round+i+1))
				if err := logs.Put(key, bytes.Repeat([]byte("entry"), 1+(i%7)*60)); err != nil {
					return err
				}
			}
			return conf.Put(keySeal, encodeSeal(map[string][]byte{"CurrentTerm": {byte(round)}}))
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return raw
}

// FuzzPages damages a sound file as the input says, three bytes for each byte
// changed, and walks it; then it walks the input itself as a page.
func FuzzPages(f *testing.F) {
	sound := soundFile(f)
	if err := checkFile(bytes.NewReader(sound), int64(len(sound))); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0x08, 0x08, 1, 0x08, 0x0a, 200, 0x0c, 0x0c, 255})
	f.Add(sound[2048 : 2048+1024])
	f.Add(sound[3072 : 3072+1024])
	f.Fuzz(func(t *testing.T, raw []byte) {
		damaged := bytes.Clone(sound)
		for edit := raw; len(edit) >= 3; edit = edit[3:] {
			damaged[int(binary.BigEndian.Uint16(edit))%len(damaged)] = edit[2]
		}
		alloc.Bound(t, 64<<10+16*len(damaged), func() { _ = checkFile(bytes.NewReader(damaged), int64(len(damaged))) })
		if len(raw) >= pageHead {
			w := &pageWalk{file: bytes.NewReader(damaged), size: int64(len(damaged)), pageSize: 1024, end: uint64(len(damaged) / 1024), seen: map[uint64]bool{}}
			_ = w.content(raw, nil, nil, 0, false)
		}
	})
}
