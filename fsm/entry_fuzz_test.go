package fsm

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
	"github.com/flagraft/flagraft/fsm/identity"
)

// FuzzEntry reads log entries without applying them: what is refused is refused as unreadable, and what is read and written again reads the same.
func FuzzEntry(f *testing.F) {
	log, _ := randomLog(f, rand.New(rand.NewPCG(4, 1)), 60)
	for _, l := range log {
		if len(l.Data) < 4<<10 {
			f.Add(l.Data)
		}
	}
	f.Add([]byte{byte(KindChangeset), FormatLevel + 1, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, body, err := splitEntry(data)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		alloc.Bound(t, 256<<10+2000*len(data), func() {
			switch kind {
			case KindGenesis:
				readAgain[Genesis](t, body)
			case KindChangeset:
				readAgain[changeset](t, body)
			case KindIdentityBatch:
				readOps(body)
			case KindUsageBatch:
				readAgain[usageBatch](t, body)
			case KindFormatLevel:
				readAgain[levelRaise](t, body)
			case KindRestore:
				readAgain[RestorePart](t, body)
			}
		})
	})
}

func readAgain[T any](t *testing.T, body []byte) {
	var first, second T
	if err := decodeBody(body, &first); err != nil {
		require.ErrorIs(t, err, ErrFormat)
		return
	}
	raw, err := encMode.Marshal(&first)
	require.NoError(t, err)
	require.NoError(t, decodeBody(raw, &second))
	again, err := encMode.Marshal(&second)
	require.NoError(t, err)
	require.Equal(t, raw, again)
}

func readOps(body []byte) {
	var sub identity.SubBatch
	var op identity.Op
	for r := identity.ReadBatch(body[min(8, len(body)):]); r.NextSub(&sub); {
		for r.NextOp(&op) {
			_ = op.Kind
		}
	}
}

// FuzzChunks: the container gives out only bytes whose chunk passed its checksum, and ends without an error only after its trailer. What was
// written is read, and with one bit changed it is not.
func FuzzChunks(f *testing.F) {
	f.Add([]byte("content"), uint32(100))
	f.Add([]byte(chunkMagic+"\x01\x00\x00\x00\x01abcdx"), uint32(3))
	f.Add([]byte(chunkMagic+"\x01\xff\xff\xff\xff"), uint32(70))
	f.Add([]byte(chunkMagic+"\x01\x08\x00\x00\x00abcdx"), uint32(70))
	f.Fuzz(func(t *testing.T, data []byte, flip uint32) {
		read := func(raw []byte) ([]byte, error) {
			r, err := newChunkReader(bytes.NewReader(raw))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}
		var got []byte
		var err error
		alloc.Bound(t, chunkSize+64<<10+8*len(data), func() { got, err = read(data) })
		require.LessOrEqual(t, len(got), len(data))
		if err != nil {
			require.ErrorIs(t, err, ErrSnapshot)
		}
		var file bytes.Buffer
		file.Write(append([]byte(chunkMagic), BaseLevel))
		w := &chunkWriter{w: &file, sum: sha256.New()} // newChunkWriter's without its megabyte
		_, err = w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		got, err = read(file.Bytes())
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
		raw := file.Bytes()
		bit := int(flip % uint32(8*len(raw)))
		if bit/8 == len(chunkMagic) {
			return // the level, which the content must fit: another level is another file
		}
		raw[bit/8] ^= 1 << (bit % 8)
		_, err = read(raw)
		require.ErrorIs(t, err, ErrSnapshot)
	})
}
