package fsm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// A chunked file is a header, chunks of at most 1 MB, and a trailer:
//
//	"FLAGRAFT" format level | (length CRC32C bytes)… | 0 SHA-256 of all chunk bytes
//
// Lengths and CRCs are 32-bit big-endian. A chunk that is damaged is noticed
// before anything of it is used; a file that ends early has no trailer.
const (
	chunkMagic = "FLAGRAFT"
	chunkSize  = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type chunkWriter struct {
	w   io.Writer
	buf []byte
	sum hash.Hash
	err error
}

func newChunkWriter(w io.Writer, level uint8) *chunkWriter {
	c := &chunkWriter{w: w, buf: make([]byte, 0, chunkSize), sum: sha256.New()}
	_, c.err = w.Write(append([]byte(chunkMagic), level))
	return c
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && c.err == nil {
		room := min(chunkSize-len(c.buf), len(p))
		c.buf = append(c.buf, p[:room]...)
		p = p[room:]
		if len(c.buf) == chunkSize {
			c.flush()
		}
	}
	return n, c.err
}

func (c *chunkWriter) flush() {
	if len(c.buf) == 0 || c.err != nil {
		return
	}
	var head [8]byte
	binary.BigEndian.PutUint32(head[:4], uint32(len(c.buf)))
	binary.BigEndian.PutUint32(head[4:], crc32.Checksum(c.buf, castagnoli))
	c.sum.Write(c.buf)
	if _, c.err = c.w.Write(head[:]); c.err == nil {
		_, c.err = c.w.Write(c.buf)
	}
	c.buf = c.buf[:0]
}

// Close writes the last chunk and the trailer; it does not close the writer.
func (c *chunkWriter) Close() error {
	c.flush()
	if c.err == nil {
		_, c.err = c.w.Write(c.sum.Sum(make([]byte, 4)))
	}
	return c.err
}

type chunkReader struct {
	r    io.Reader
	buf  []byte
	next []byte // unread part of buf
	sum  hash.Hash
	end  bool

	level uint8 // that the header names; no checksum covers it
}

func newChunkReader(r io.Reader) (*chunkReader, error) {
	head := make([]byte, len(chunkMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrSnapshot, err)
	}
	if string(head[:len(chunkMagic)]) != chunkMagic {
		return nil, fmt.Errorf("%w: it does not start with %s", ErrSnapshot, chunkMagic)
	}
	if level := head[len(chunkMagic)]; level < BaseLevel || level > FormatLevel {
		return nil, fmt.Errorf("%w: it needs format level %d, this binary knows %d", ErrSnapshot, level, FormatLevel)
	}
	return &chunkReader{r: r, sum: sha256.New(), level: head[len(chunkMagic)]}, nil
}

func (c *chunkReader) Read(p []byte) (int, error) {
	if len(c.next) == 0 {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.next)
	c.next = c.next[n:]
	return n, nil
}

func (c *chunkReader) fill() error {
	if c.end {
		return io.EOF
	}
	var length, crc [4]byte
	if _, err := io.ReadFull(c.r, length[:]); err != nil {
		return fmt.Errorf("%w: it ends early: %w", ErrSnapshot, noEOF(err))
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 {
		return c.trailer()
	}
	if n > chunkSize {
		return fmt.Errorf("%w: chunk of %d bytes", ErrSnapshot, n)
	}
	if cap(c.buf) < int(n) {
		c.buf = make([]byte, chunkSize)
	}
	c.buf = c.buf[:n]
	if _, err := io.ReadFull(c.r, crc[:]); err != nil {
		return fmt.Errorf("%w: it ends early: %w", ErrSnapshot, noEOF(err))
	}
	if _, err := io.ReadFull(c.r, c.buf); err != nil {
		return fmt.Errorf("%w: it ends early: %w", ErrSnapshot, noEOF(err))
	}
	if crc32.Checksum(c.buf, castagnoli) != binary.BigEndian.Uint32(crc[:]) {
		return fmt.Errorf("%w: a chunk is damaged", ErrSnapshot)
	}
	c.sum.Write(c.buf)
	c.next = c.buf
	return nil
}

func (c *chunkReader) trailer() error {
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c.r, want); err != nil {
		return fmt.Errorf("%w: trailer: %w", ErrSnapshot, noEOF(err))
	}
	if !bytes.Equal(want, c.sum.Sum(nil)) {
		return fmt.Errorf("%w: its chunks do not add up to its checksum", ErrSnapshot)
	}
	c.end = true
	return io.EOF
}

// of makes sure that the header is that of a state of a level.
func (c *chunkReader) of(level uint8) error {
	if want := max(level, BaseLevel); c.level != want {
		return fmt.Errorf("%w: its header says format level %d, its state %d", ErrSnapshot, c.level, want)
	}
	return nil
}

// Finish reads to the end and checks the trailer.
func (c *chunkReader) Finish() error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// noEOF keeps a clean end of the underlying file from looking like a clean end of ours.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
