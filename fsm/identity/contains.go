package identity

import "bytes"

// finder looks for a substring whatever the case: ASCII letters by themselves, others by their lower case.
type finder struct {
	needle []byte // lower case
	ascii  bool
}

func newFinder(substr string) finder {
	f := finder{needle: bytes.ToLower([]byte(substr)), ascii: true}
	for _, c := range f.needle {
		f.ascii = f.ascii && c < 0x80
	}
	return f
}

func (f *finder) in(b []byte) bool {
	if !f.ascii {
		return bytes.Contains(bytes.ToLower(b), f.needle)
	}
	n := len(f.needle)
	if n == 0 {
		return true
	}
	for i := 0; i+n <= len(b); i++ {
		if lower(b[i]) == f.needle[0] && f.at(b[i:]) {
			return true
		}
	}
	return false
}

func (f *finder) at(b []byte) bool {
	for i, c := range f.needle {
		if lower(b[i]) != c {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
