package fsm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Body is an answer rendered once for a View. It is immutable.
type Body struct {
	Plain []byte
	// ETag is a quoted strong tag of the content, GzipETag that of Gzip's bytes.
	ETag, GzipETag []byte

	once sync.Once // as in onDemand
	gzip []byte
}

func newBody(plain []byte) *Body {
	sum := sha256.Sum256(plain)
	tag := hex.EncodeToString(sum[:12])
	return &Body{Plain: plain, ETag: []byte(`"` + tag + `"`), GzipETag: []byte(`"` + tag + `-gzip"`)}
}

// Gzip returns the body compressed. The slice must not be written to.
func (b *Body) Gzip() []byte {
	b.once.Do(func() {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		_, _ = w.Write(b.Plain) // writing to a buffer does not fail
		_ = w.Close()
		b.gzip = out.Bytes()
	})
	return b.gzip
}

// bodySlot renders once; whoever comes meanwhile waits for the result.
type bodySlot struct {
	once sync.Once
	body *Body
}

// FlagsBody returns the body of GET /flags/ for a client or server key.
func (v *View) FlagsBody(format Format, server bool) *Body {
	slot := &v.flags[format][0]
	if server {
		slot = &v.flags[format][1]
	}
	slot.once.Do(func() { slot.body = newBody(v.appendFlags(nil, format, server)) })
	return slot.body
}

func (v *View) appendFlags(dst []byte, format Format, server bool) []byte {
	dst = append(dst, '[')
	for i := range v.Features {
		s := v.Features[i].Default
		if !v.Visible(s.Feature, s.State.Enabled, server) {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = s.AppendFlag(dst, format)
	}
	return append(dst, ']')
}

// DocumentBody returns the whole environment document.
func (v *View) DocumentBody() *Body {
	slot := &v.document
	slot.once.Do(func() {
		var plain []byte
		plain, v.pieces = v.appendDocument(nil)
		v.paged.Store(len(v.pieces) > 1)
		slot.body = newBody(plain)
	})
	return slot.body
}
