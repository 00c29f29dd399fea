package cluster

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// A stamp is what an entry carries in Log.Extensions: a version byte, a CRC32C
// and the commit index that the leader knew when it stored the entry. Whoever
// has the entry has, by Raft's log matching, everything up to that commit
// index, so the stamp is as true on a follower as on the leader and the commit
// index costs no write of its own.
const (
	stampVersion = 1
	stampSize    = 1 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newStamp(l *raft.Log, commit uint64) []byte {
	stamp := make([]byte, stampSize)
	stamp[0] = stampVersion
	binary.BigEndian.PutUint64(stamp[5:], commit)
	binary.BigEndian.PutUint32(stamp[1:], stampSum(l, stamp[5:]))
	return stamp
}

// checkStamp returns the commit index in the entry's stamp, or ErrCorrupt.
func checkStamp(l *raft.Log) (commit uint64, err error) {
	stamp := l.Extensions
	if len(stamp) != stampSize || stamp[0] != stampVersion {
		return 0, fmt.Errorf("%w: entry %d (term %d) has no valid checksum", ErrCorrupt, l.Index, l.Term)
	}
	if binary.BigEndian.Uint32(stamp[1:]) != stampSum(l, stamp[5:]) {
		return 0, fmt.Errorf("%w: entry %d (term %d) fails its checksum", ErrCorrupt, l.Index, l.Term)
	}
	return binary.BigEndian.Uint64(stamp[5:]), nil
}

func stampSum(l *raft.Log, commit []byte) uint32 {
	var head [25]byte
	binary.BigEndian.PutUint64(head[0:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	copy(head[17:], commit)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}
