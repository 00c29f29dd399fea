package route

import (
	"net/url"
	"strings"
)

// MaxParams is the largest number of parameters in a path.
const MaxParams = 6

// Match is the result of a lookup. Its values are parts of the looked-up path: they must not outlive it.
type Match struct {
	Row *Row
	// Allow is the text for the Allow header of everything on this path; "" when the path is unknown.
	Allow string

	values [MaxParams][]byte
	n      int
}

// Len is the number of path parameters.
func (m *Match) Len() int { return m.n }

// Raw gives parameter i as it stands in the path, percent-encoded.
func (m *Match) Raw(i int) []byte { return m.values[i] }

// Decoded gives parameter i percent-decoded, in memory of its own. A wrong escape stays as it was sent; wrong UTF-8 becomes U+FFFD. NUL, which no
// stored text holds, stays for who reads it to refuse: another text would name something else.
func (m *Match) Decoded(i int) string {
	raw := string(m.values[i])
	s, err := url.PathUnescape(raw)
	if err != nil {
		s = raw
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
