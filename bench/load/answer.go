package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// answer is the head of an HTTP/1.1 answer, as far as a generator needs it.
type answer struct {
	status      int
	head, body  int // bytes
	unpersisted bool
}

const maxHead = 64 << 10

var (
	endOfHead   = []byte("\r\n\r\n")
	lengthName  = []byte("\r\nContent-Length: ")
	lengthLower = []byte("\r\ncontent-length: ")
	unpersisted = []byte("\r\nFlagraft-Traits-Persisted: false\r\n")

	errHead = errors.New("the answer's head cannot be read")
)

// parseHead reads the head at the start of b; ok is false while it is incomplete.
// Only answers with a length, or without a body, are understood.
func parseHead(b []byte) (a answer, ok bool, err error) {
	end := bytes.Index(b, endOfHead)
	if end < 0 {
		if len(b) > maxHead {
			return a, false, errHead
		}
		return a, false, nil
	}
	head := b[:end+2]
	a.head = end + len(endOfHead)
	if len(head) < len("HTTP/1.1 200") || string(head[:7]) != "HTTP/1." {
		return a, false, errHead
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, false, errHead
	}
	i := bytes.Index(head, lengthName)
	if i < 0 {
		i = bytes.Index(head, lengthLower)
	}
	switch {
	case i >= 0:
		digits := head[i+len(lengthName):]
		if a.body, err = strconv.Atoi(string(digits[:bytes.IndexByte(digits, '\r')])); err != nil || a.body < 0 {
			return a, false, errHead
		}
	case a.status != 204 && a.status != 304:
		return a, false, fmt.Errorf("%w: no Content-Length: %.200q", errHead, head)
	}
	a.unpersisted = bytes.Contains(head, unpersisted)
	return a, true, nil
}
