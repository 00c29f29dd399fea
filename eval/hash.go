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
	if bucket == 9998 {
		bucket = rehash(joined)
	}
	return float64(bucket) / 9998 * 100
}

func rehash(joined []byte) uint64 {
	for n := 2; ; n++ {
		ids := strings.Join(slices.Repeat([]string{string(joined)}, n), ",")
		if bucket := md5Mod9999([]byte(ids)); bucket != 9998 {
			return bucket
		}
	}
}

// md5Mod9999 is the MD5 of data as a big-endian 128-bit number modulo 9999.
// With constants only, the compiler needs no division.
func md5Mod9999(data []byte) uint64 {
	const wordMod = (1 << 64) % 9999
	sum := md5.Sum(data)
	high, low := binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])
	return (high%9999*wordMod + low%9999) % 9999
}
