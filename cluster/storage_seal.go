package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// The values of Raft and of the node (term, vote, cluster, …) are one value of
// the file, with a checksum: the seal. bbolt has none for its pages, and a node
// whose term lost a bit, or whose vote is gone, would vote twice. A vote's term
// and candidate are stored at once with it.
//
// Binaries without seals kept each value by itself in a file of another name.
// Such a file is taken over once, and they refuse the directory afterwards.
var keySeal = []byte("flagraft.seal")

const sealMagic = "flagraft seal 2\n"

// oldLogFileName is the file of binaries without seals.
const oldLogFileName = "raft.db"

// Raft's own keys; all others are the node's.
var (
	keyTerm     = []byte("CurrentTerm")
	keyVoteTerm = []byte("LastVoteTerm")
	keyVoteCand = []byte("LastVoteCand")
)

const nodeKeys = "flagraft."

func raftKey(key []byte) bool {
	return bytes.Equal(key, keyTerm) || bytes.Equal(key, keyVoteTerm) || bytes.Equal(key, keyVoteCand)
}

func encodeSeal(values map[string][]byte) []byte {
	out := []byte(sealMagic)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		out = binary.AppendUvarint(out, uint64(len(k)))
		out = append(out, k...)
		out = binary.AppendUvarint(out, uint64(len(values[k])))
		out = append(out, values[k]...)
	}
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

var errSeal = errors.New("the seal fails its checksum")

func decodeSeal(raw []byte) (map[string][]byte, error) {
	const head = len(sealMagic)
	if len(raw) < head+4 || string(raw[:head]) != sealMagic {
		return nil, errSeal
	}
	body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errSeal
	}
	values := map[string][]byte{}
	for rest := body[head:]; len(rest) > 0; {
		var k, v []byte
		var err error
		if k, rest, err = cutField(rest); err != nil {
			return nil, err
		}
		if v, rest, err = cutField(rest); err != nil {
			return nil, err
		}
		values[string(k)] = bytes.Clone(v)
	}
	return values, nil
}

func cutField(from []byte) (field, rest []byte, err error) {
	size, n := binary.Uvarint(from)
	if n <= 0 || size > uint64(len(from)-n) {
		return nil, nil, errSeal
	}
	return from[n : n+int(size)], from[n+int(size):], nil
}

// content is what stands in the file.
type content struct {
	span  span
	plain map[string][]byte // of a binary without seals
	seal  []byte            // nil: none
}

// sealed returns the values, and whether they come from a seal.
func (c *content) sealed() (map[string][]byte, bool, error) {
	if c.seal == nil {
		return c.plain, false, nil
	}
	values, err := decodeSeal(c.seal)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return values, true, nil
}

// readContent lists what is in the file, which need not be there yet.
func readContent(path string) (c content, err error) {
	c.plain = map[string][]byte{}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: logOptions(path).BoltOptions.Timeout})
	if err != nil {
		return c, fmt.Errorf("cluster: open %s: %w", path, err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		logs, conf := tx.Bucket(bucketLogs), tx.Bucket(bucketConf)
		if logs == nil && conf == nil && tx.ID() <= 1 {
			return nil // just made
		}
		if logs == nil || conf == nil {
			return fmt.Errorf("%w: a bucket is missing", ErrCorrupt)
		}
		return errors.Join(c.readIndexes(logs), c.readValues(conf))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *content) readIndexes(logs *bbolt.Bucket) error {
	return logs.ForEach(func(k, _ []byte) error {
		if len(k) != 8 || binary.BigEndian.Uint64(k) == 0 || !c.span.add(binary.BigEndian.Uint64(k)) {
			return fmt.Errorf("%w: entry %x stands behind %d", ErrCorrupt, k, c.span.last)
		}
		return nil
	})
}

func (c *content) readValues(conf *bbolt.Bucket) error {
	return conf.ForEach(func(k, v []byte) error {
		switch {
		case bytes.Equal(k, keySeal):
			c.seal = bytes.Clone(v)
		case !raftKey(k) && !strings.HasPrefix(string(k), nodeKeys):
			return fmt.Errorf("%w: unknown value %q", ErrCorrupt, k)
		default:
			c.plain[string(k)] = bytes.Clone(v)
		}
		return nil
	})
}

// adoptOldLog gives the file of a binary without seals its new name.
func adoptOldLog(dir string) error {
	old, now := filepath.Join(dir, oldLogFileName), filepath.Join(dir, logFileName)
	if !exists(old) || exists(now) {
		return nil
	}
	if err := os.Rename(old, now); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return syncDir(dir)
}
