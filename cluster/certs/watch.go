package certs

import (
	"bytes"
	"fmt"
	"os"
)

// Watch tells when the contents of some files change. It compares contents:
// times lie on network disks, and links are swapped. It belongs to one goroutine.
type Watch struct {
	paths []string
	last  [][]byte
}

// NewWatch watches the files with these paths.
func NewWatch(paths ...string) *Watch { return &Watch{paths: paths} }

// Paths are the files.
func (w *Watch) Paths() []string { return w.paths }

// Read returns the contents of the files in order, and whether they differ from what the call before returned.
func (w *Watch) Read() (contents [][]byte, changed bool, err error) {
	contents = make([][]byte, len(w.paths))
	changed = w.last == nil
	for i, path := range w.paths {
		if contents[i], err = os.ReadFile(path); err != nil {
			return nil, false, fmt.Errorf("read certificates: %w", err)
		}
		changed = changed || !bytes.Equal(contents[i], w.last[i])
	}
	w.last = contents
	return contents, changed, nil
}
