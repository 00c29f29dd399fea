package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// digest is an order-free sum over everything a set of tables holds: adding and
// removing a row adds and subtracts the row's own hash, so it is kept up to date
// in constant time and does not depend on the way the state was reached.
type digest [2]uint64

func (h digest) add(o digest) digest { return digest{h[0] + o[0], h[1] + o[1]} }
func (h digest) sub(o digest) digest { return digest{h[0] - o[0], h[1] - o[1]} }

// hashRow hashes one row: its table, its id and its bytes.
func hashRow(table uint8, id uint64, raw []byte) digest {
	buf := make([]byte, 0, 16+len(raw))
	buf = append(buf, table)
	buf = binary.BigEndian.AppendUint64(buf, id)
	sum := sha256.Sum256(append(buf, raw...))
	return digest{binary.BigEndian.Uint64(sum[0:8]), binary.BigEndian.Uint64(sum[8:16])}
}

// Hash returns the hash of everything replicated as of the state's index, in hex:
// equal on every node that has applied the same log.
func (s *State) Hash() string {
	var buf []byte
	for _, v := range []uint64{s.Seq, uint64(s.Time), s.rowsHash[0], s.rowsHash[1], s.identitySum.A, s.identitySum.B} {
		buf = binary.BigEndian.AppendUint64(buf, v)
	}
	buf = append(buf, must(encMode.Marshal(s.Genesis))...)
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}
