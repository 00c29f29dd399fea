package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

// FuzzCall executes a frame from the network: a handler that is not there, one that fails and one that answers; the answer survives the wire with
// the class of its error, under the call's id.
func FuzzCall(f *testing.F) {
	s := &callee{leading: func() bool { return false }, limit: 1 << 10, log: testLog()}
	var echo Handler = func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil }
	var refuse Handler = func(_ context.Context, _ string, p []byte) ([]byte, error) {
		return nil, &Error{Code: string(p), Text: "no"}
	}
	s.handlers[1].Store(&echo)
	s.handlers[2].Store(&refuse)
	f.Add(uint64(1), uint8(1), uint8(0), uint32(0), []byte("payload"))
	f.Add(uint64(2), uint8(2), uint8(0), uint32(1), []byte("code"))
	f.Add(uint64(3), uint8(1), flagLeader, uint32(1<<31), []byte{})
	f.Add(uint64(4), uint8(255), uint8(0), uint32(0), bytes.Repeat([]byte("x"), 300))
	f.Fuzz(func(t *testing.T, id uint64, kind, flags uint8, timeout uint32, payload []byte) {
		got := s.execute(t.Context(), "peer", &frame{id: id, kind: kind, flags: flags, timeout: timeout, payload: payload})
		if got.id != id {
			t.Fatal("the answer to another call")
		}
		answer, err := got.answer()
		var own *Error
		switch {
		case flags&flagLeader != 0:
			if !errors.Is(err, ErrNotLeader) {
				t.Fatal(err)
			}
		case kind == 1 && len(payload) <= s.limit:
			if err != nil || !bytes.Equal(answer, payload) {
				t.Fatalf("%q: %v", answer, err)
			}
		case kind == 1:
			if !errors.Is(err, ErrUnknownOutcome) {
				t.Fatal(err)
			}
		case kind == 2:
			if !errors.As(err, &own) || own.Text != "no" || own.Code != string(payload[:min(255, len(payload))]) {
				t.Fatal(err)
			}
		default:
			if !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzAnswer reads any answer frame: a status that is not OK is always an error of a class that callers know, or a handler's own.
func FuzzAnswer(f *testing.F) {
	for status := range uint8(6) {
		f.Add(status, []byte("\x04codetext"))
		f.Add(status, []byte{200, 'x'})
	}
	f.Fuzz(func(t *testing.T, status uint8, payload []byte) {
		got, err := (&frame{kind: status, payload: payload}).answer()
		if status == statusOK {
			if err != nil || !bytes.Equal(got, payload) {
				t.Fatal(err)
			}
			return
		}
		var own *Error
		if !errors.As(err, &own) && !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknownOutcome) {
			t.Fatalf("status %d: %v", status, err)
		}
		if got != nil {
			t.Fatal("an error with an answer")
		}
	})
}

// FuzzSeal reads any seal. Its checksum would refuse nearly all of them, so each is also tried with the right one: what is read is written to a
// seal that reads the same.
func FuzzSeal(f *testing.F) {
	f.Add(encodeSeal(map[string][]byte{"CurrentTerm": {1}, "flagraft.cluster": []byte("id")}))
	f.Add(encodeSeal(nil))
	f.Add([]byte(sealMagic + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01...."))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := decodeSeal(raw); err != nil && !errors.Is(err, errSeal) {
			t.Fatal(err)
		}
		body := append([]byte(sealMagic), raw...)
		body = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
		var values map[string][]byte
		var err error
		alloc.Bound(t, 64<<10+500*len(raw), func() { values, err = decodeSeal(body) })
		if err != nil {
			if !errors.Is(err, errSeal) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeSeal(encodeSeal(values))
		if err != nil || !maps.EqualFunc(values, again, bytes.Equal) {
			t.Fatalf("%q became %q: %v", values, again, err)
		}
	})
}

// FuzzStamp: an entry passes with the stamp made for it, gives its commit index back, and fails once anything of it or of the stamp is another.
func FuzzStamp(f *testing.F) {
	f.Add(uint64(7), uint64(2), uint64(6), []byte("data"), []byte{}, uint16(3))
	f.Add(uint64(0), uint64(0), uint64(0), []byte{}, make([]byte, stampSize), uint16(0))
	f.Fuzz(func(t *testing.T, index, term, commit uint64, data, stamp []byte, flip uint16) {
		l := &raft.Log{Index: index, Term: term, Data: data, Extensions: stamp}
		if _, err := checkStamp(l); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		l.Extensions = newStamp(l, commit)
		if got, err := checkStamp(l); err != nil || got != commit {
			t.Fatal(got, err)
		}
		bit := int(flip) % (8 * (len(data) + stampSize))
		whole := append(bytes.Clone(data), l.Extensions...)
		whole[bit/8] ^= 1 << (bit % 8)
		l.Data, l.Extensions = whole[:len(data)], whole[len(data):]
		if _, err := checkStamp(l); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d was not missed: %v", bit, err)
		}
	})
}
