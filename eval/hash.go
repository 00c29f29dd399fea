package eval

import (
	"crypto/md5"
	"encoding/binary"
	"slices"
	"strings"
)

// Percentage is the bucket of two ids, in [0,100): the MD5 of their texts
// joined by a comma, modulo 9999, over 9998, times 100. The one hash that
// would give 100 is taken again over the ids repeated twice, three times, and so on.
func Percentage[A, B ~string | ~[]byte](first A, second B) float64 {
	var scratch [128]byte
	buf := append(scratch[:0], first...)
	buf = append(buf, ',')
	buf = append(buf, second...)
	return percentageOf(buf)
}

// percentageOf is the bucket of the joined ids.
func percentageOf(joined []byte) float64 {
	bucket := md5Mod9999(joined)
	if bucket == hashedAgain {
		bucket = rehash(joined)
	}
	return percentageOfBucket(bucket)
}

// hashedAgain is the bucket that would be 100 percent.
const hashedAgain = 9998

func percentageOfBucket(bucket uint64) float64 { return float64(bucket) / hashedAgain * 100 }

// rehash is the bucket of joined ids whose first one was hashedAgain.
func rehash(joined []byte) uint64 {
	for n := 2; ; n++ {
		ids := strings.Join(slices.Repeat([]string{string(joined)}, n), ",")
		if bucket := md5Mod9999([]byte(ids)); bucket != hashedAgain {
			return bucket
		}
	}
}

// md5Mod9999 is the MD5 of data as a big-endian 128-bit number modulo 9999.
func md5Mod9999(data []byte) uint64 {
	sum := md5.Sum(data)
	return mod9999(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:]))
}

// mod9999 is a number of 128 bits modulo 9999. With constants only, the compiler needs
// no division.
func mod9999(high, low uint64) uint64 {
	const wordMod = (1 << 64) % 9999
	return (high%9999*wordMod + low%9999) % 9999
}
