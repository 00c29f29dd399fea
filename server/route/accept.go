package route

import "bytes"

// AcceptsGzip reports whether an Accept-Encoding names gzip, in any case, with a weight above 0.
func AcceptsGzip(accept []byte) bool {
	for len(accept) > 0 {
		var coding []byte
		coding, accept, _ = bytes.Cut(accept, []byte{','})
		name, weight, _ := bytes.Cut(coding, []byte{';'})
		if !bytes.EqualFold(bytes.TrimSpace(name), []byte("gzip")) {
			continue
		}
		q, value, ok := bytes.Cut(weight, []byte{'='})
		return !ok || !bytes.EqualFold(bytes.TrimSpace(q), []byte{'q'}) || len(bytes.Trim(value, " \t0.")) > 0
	}
	return false
}
