package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is the unit of a call connection, in both directions:
//
//	length of the rest (4) | call id (8) | kind or status (1) | flags (1) | timeout in ms (4) | payload
type frame struct {
	id      uint64
	kind    uint8 // of a request; the status of an answer
	flags   uint8
	timeout uint32 // ms that the caller waits; 0 in answers
	payload []byte
}

const (
	frameHead = 8 + 1 + 1 + 4
	// frameChunk bounds what is allocated on the word of a length field.
	frameChunk = 1 << 20
)

// flagLeader: only the leader may execute this call.
const flagLeader uint8 = 1

// Statuses of an answer.
const (
	statusOK uint8 = iota
	statusError
	statusNotLeader
	statusUnavailable
	statusUnknown
)

var errFrame = errors.New("cluster: bad frame")

func writeFrame(w *bufio.Writer, f *frame) error {
	var head [4 + frameHead]byte
	binary.BigEndian.PutUint32(head[0:], uint32(frameHead+len(f.payload)))
	binary.BigEndian.PutUint64(head[4:], f.id)
	head[12], head[13] = f.kind, f.flags
	binary.BigEndian.PutUint32(head[14:], f.timeout)
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(f.payload)
	return err
}

// readFrame reads one frame whose payload is at most limit bytes. begun, if
// not nil, is called when its first bytes have arrived.
func readFrame(r *bufio.Reader, limit int, begun func()) (*frame, error) {
	var head [4 + frameHead]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return nil, err
	}
	if begun != nil {
		begun()
	}
	size := int64(binary.BigEndian.Uint32(head[:4])) - frameHead
	if size < 0 || size > int64(limit) {
		return nil, fmt.Errorf("%w: payload of %d bytes", errFrame, size)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return nil, noEOF(err)
	}
	payload, err := readSized(r, int(size))
	if err != nil {
		return nil, err
	}
	return &frame{
		id:      binary.BigEndian.Uint64(head[4:]),
		kind:    head[12],
		flags:   head[13],
		timeout: binary.BigEndian.Uint32(head[14:]),
		payload: payload,
	}, nil
}

// readSized reads size bytes without allocating far ahead of what arrives.
func readSized(r io.Reader, size int) ([]byte, error) {
	buf := make([]byte, 0, min(size, frameChunk))
	for len(buf) < size {
		n := min(size-len(buf), frameChunk)
		buf = append(buf, make([]byte, n)...)
		if _, err := io.ReadFull(r, buf[len(buf)-n:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return buf, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// answerFrame turns what a handler returned into an answer that keeps the class of the error.
func answerFrame(id uint64, payload []byte, err error) *frame {
	f := &frame{id: id, payload: payload}
	if err == nil {
		return f
	}
	var own *Error
	code, text := "", err.Error()
	switch {
	case errors.As(err, &own):
		f.kind, code, text = statusError, own.Code, own.Text
	case errors.Is(err, ErrNotLeader):
		f.kind = statusNotLeader
	case errors.Is(err, ErrUnavailable):
		f.kind = statusUnavailable
	case errors.Is(err, ErrUnknownOutcome),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f.kind = statusUnknown
	default:
		f.kind = statusError
	}
	code = code[:min(len(code), 255)]
	f.payload = append(append([]byte{byte(len(code))}, code...), text...)
	return f
}

// answer is the inverse of answerFrame.
func (f *frame) answer() ([]byte, error) {
	if f.kind == statusOK {
		return f.payload, nil
	}
	if len(f.payload) == 0 || len(f.payload) < 1+int(f.payload[0]) {
		return nil, fmt.Errorf("%w: %w: status %d without a text", ErrUnknownOutcome, errFrame, f.kind)
	}
	end := 1 + int(f.payload[0])
	code, text := string(f.payload[1:end]), string(f.payload[end:])
	switch f.kind {
	case statusError:
		return nil, &Error{Code: code, Text: text}
	case statusNotLeader:
		return nil, &remoteError{ErrNotLeader, text}
	case statusUnavailable:
		return nil, &remoteError{ErrUnavailable, text}
	default:
		return nil, &remoteError{ErrUnknownOutcome, text}
	}
}

// remoteError is a class with the peer's own words, which already name the class.
type remoteError struct {
	class error
	text  string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.class }
