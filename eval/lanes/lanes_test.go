package lanes

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func requireHash(t *testing.T, l *Lanes, lane int, text string) {
	t.Helper()
	sum := md5.Sum([]byte(text))
	high, low := l.Hash(lane)
	require.Equal(t, binary.BigEndian.Uint64(sum[:8]), high, "lane %d: %q", lane, text)
	require.Equal(t, binary.BigEndian.Uint64(sum[8:]), low, "lane %d: %q", lane, text)
}

// TestEachLaneIsMD5 has a text of each length in each lane, beside others.
func TestEachLaneIsMD5(t *testing.T) {
	needLanes(t)
	var l Lanes
	for first := range MaxText + 1 {
		var texts [Width]string
		for lane := range texts {
			length := (first + 7*lane) % (MaxText + 1)
			texts[lane] = strings.Repeat(fmt.Sprintf("%d,%c", first, 'a'+lane), MaxText)[:length]
			l.Set(lane, []byte(texts[lane]))
		}
		l.Sum()
		for lane, text := range texts {
			requireHash(t, &l, lane, text)
		}
	}
}

// TestWhatALaneHadIsGone hashes again with only one text exchanged.
func TestWhatALaneHadIsGone(t *testing.T) {
	needLanes(t)
	var l Lanes
	for lane := range Width {
		l.Set(lane, []byte(strings.Repeat("x", MaxText)))
	}
	l.Sum()
	l.Set(3, []byte("short"))
	l.Sum()
	requireHash(t, &l, 3, "short")
	requireHash(t, &l, 4, strings.Repeat("x", MaxText))
}

func FuzzHash(f *testing.F) {
	needLanes(f)
	f.Add("", strings.Repeat("\xff", MaxText), 1)
	f.Fuzz(func(t *testing.T, one, two string, lane int) {
		if len(one) > MaxText || len(two) > MaxText {
			return
		}
		lane &= Width - 1
		other := (lane + 1) % Width
		var l Lanes
		l.Set(lane, []byte(one))
		l.Set(other, []byte(two))
		l.Sum()
		requireHash(t, &l, lane, one)
		requireHash(t, &l, other, two)
	})
}

func needLanes(t testing.TB) {
	if !Available() {
		t.Skip("this processor has no AVX2")
	}
}

func BenchmarkEight(b *testing.B) {
	needLanes(b)
	var l Lanes
	text := []byte("1000,key_identity-0000001@example.com")
	for b.Loop() {
		for lane := range Width {
			l.Set(lane, text)
		}
		l.Sum()
	}
}
