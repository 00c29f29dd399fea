// Package lanes takes the MD5 (RFC 1321) of eight short texts at the same time, in
// the eight lanes of a vector register. One MD5 is a chain in which each step waits for
// the one before; those of other texts fit in beside it at no further cost.
package lanes

import (
	"encoding/binary"
	"math"
)

const (
	// Width is how many texts are hashed together.
	Width = 8
	// MaxText is the length, in bytes, of the longest text that fits the one block
	// a lane has: MD5 ends it with a byte and its length in 8.
	MaxText = 64 - 1 - 8
)

// Lanes is up to Width texts and, after Sum, their hashes. The zero value is
// ready; a Lanes is for one goroutine at a time.
type Lanes struct {
	words [16][Width]uint32 // of the blocks, by place in the block, then lane
	state state
}

// state is MD5's a, b, c and d of each lane.
type state [4][Width]uint32

// Available tells whether this processor has what Sum needs.
func Available() bool { return available }

// Set puts a text of at most MaxText bytes into a lane.
func (l *Lanes) Set(lane int, text []byte) {
	var block [64]byte
	length := copy(block[:MaxText], text)
	block[length] = 0x80
	binary.LittleEndian.PutUint64(block[MaxText+1:], uint64(length)*8)
	lane &= Width - 1 // without bounds checks
	for i := 0; i < len(l.words); i += 2 {
		two := binary.LittleEndian.Uint64(block[4*i:])
		l.words[i][lane], l.words[i+1][lane] = uint32(two), uint32(two>>32)
	}
}

// Sum hashes what is in the lanes. Only where Available.
func (l *Lanes) Sum() {
	l.state = start
	hashBlocks(&l.state, &l.words, &sines)
}

// Hash is the hash of a lane after Sum: its first and its last eight bytes as big-endian numbers.
func (l *Lanes) Hash(lane int) (high, low uint64) {
	var sum [16]byte
	for i := range l.state {
		binary.LittleEndian.PutUint32(sum[4*i:], l.state[i][lane&(Width-1)])
	}
	return binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])
}

// start is the state that RFC 1321 begins with.
var start = func() (s state) {
	for i, word := range [...]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476} {
		for lane := range s[i] {
			s[i][lane] = word
		}
	}
	return s
}()

// sines are the numbers that the 64 steps add.
var sines = func() (s [64]uint32) {
	for i := range s {
		s[i] = uint32(math.Abs(math.Sin(float64(i+1))) * (1 << 32))
	}
	return s
}()
