package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// checkPages walks the pages of a bbolt file before bbolt maps it: bbolt trusts
// what it reads, and a flipped bit in a page makes it panic, run in circles, touch
// memory outside the file, or go back to the transaction before the last one
// without a word. The layout is that of bbolt's file version 2.
func checkPages(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // to be made
	}
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := checkFile(f, info.Size()); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return nil
}

func checkFile(file io.ReaderAt, size int64) error {
	w := &pageWalk{file: file, size: size, seen: map[uint64]bool{}}
	return w.run()
}

const (
	pageHead     = 16 // id 8, flags 2, count 2, overflow 4
	pageElement  = 16
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageMeta     = 0x04
	elemBucket   = 0x01
	bucketHead   = 16 // root 8, sequence 8
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	metaSize     = 64
	maxTreeDepth = 64
)

type pageMetaData struct{ pageSize, root, end, tx uint64 }

type pageWalk struct {
	file     io.ReaderAt
	size     int64
	pageSize uint64
	end      uint64 // first page that is not in use
	seen     map[uint64]bool
}

func (w *pageWalk) run() error {
	// The first page tells how large pages are; both have to say the same.
	first, err := w.meta(0, 0)
	if err != nil {
		return err
	}
	second, err := w.meta(1, int64(first.pageSize))
	if err != nil {
		return err
	}
	// Each transaction writes the other page: if one did not arrive, the file
	// is older than what was acknowledged.
	if first.pageSize != second.pageSize || max(first.tx, second.tx) != min(first.tx, second.tx)+1 {
		return fmt.Errorf("its two heads do not fit together (transactions %d and %d)", first.tx, second.tx)
	}
	m := first
	if second.tx > first.tx {
		m = second
	}
	w.pageSize, w.end = m.pageSize, m.end
	if w.end > uint64(w.size)/w.pageSize {
		return fmt.Errorf("it has %d bytes and should have %d", w.size, w.end*w.pageSize)
	}
	w.seen[0], w.seen[1] = true, true
	return w.tree(m.root, nil, nil, 0)
}

func (w *pageWalk) meta(id uint64, at int64) (m pageMetaData, err error) {
	raw := make([]byte, pageHead+metaSize)
	if _, err := w.file.ReadAt(raw, at); err != nil {
		return m, fmt.Errorf("head %d cannot be read: %w", id, err)
	}
	head, body := raw[:pageHead], raw[pageHead:]
	sum := fnv.New64a()
	_, _ = sum.Write(body[:metaSize-8]) // never fails
	n := binary.NativeEndian
	switch {
	case n.Uint32(body) != metaMagic || n.Uint32(body[4:]) != metaVersion || n.Uint64(body[metaSize-8:]) != sum.Sum64():
		return m, fmt.Errorf("head %d fails its checksum", id)
	case n.Uint64(head) != id || n.Uint16(head[8:]) != pageMeta:
		return m, fmt.Errorf("head %d is no head", id)
	}
	m = pageMetaData{pageSize: uint64(n.Uint32(body[8:])), root: n.Uint64(body[16:]), end: n.Uint64(body[40:]), tx: n.Uint64(body[48:])}
	if m.pageSize < 512 || m.pageSize > 1<<20 || m.tx%2 != id {
		return m, fmt.Errorf("head %d is in the wrong place", id)
	}
	return m, nil
}

// tree walks the page and what is below it. All keys are ≥ low and < high (nil: any).
func (w *pageWalk) tree(id uint64, low, high []byte, depth int) error {
	if id < 2 || id >= w.end || w.seen[id] || depth > maxTreeDepth {
		return fmt.Errorf("page %d has no business here", id)
	}
	head := make([]byte, pageHead)
	if _, err := w.file.ReadAt(head, int64(id*w.pageSize)); err != nil {
		return fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || more >= w.end-id {
		return fmt.Errorf("page %d has a damaged head", id)
	}
	for i := id; i <= id+more; i++ {
		if w.seen[i] {
			return fmt.Errorf("page %d is used twice", i)
		}
		w.seen[i] = true
	}
	page := make([]byte, (more+1)*w.pageSize)
	if _, err := w.file.ReadAt(page, int64(id*w.pageSize)); err != nil {
		return fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	if err := w.content(page, low, high, depth, false); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

var errElement = errors.New("an element is damaged")

// content walks a page, also one inside a bucket's value, which has neither pages nor buckets below it.
func (w *pageWalk) content(page, low, high []byte, depth int, inside bool) error {
	flags, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	if (flags != pageBranch && flags != pageLeaf) || pageHead+count*pageElement > len(page) || (flags == pageBranch && count == 0) {
		return errors.New("it is no page of a tree")
	}
	if inside && flags != pageLeaf {
		return errElement
	}
	var before []byte
	for i := range count {
		key, value, next, err := element(page, flags, i)
		if err != nil {
			return err
		}
		if (i > 0 && bytes.Compare(before, key) >= 0) || (low != nil && bytes.Compare(key, low) < 0) || (high != nil && bytes.Compare(key, high) >= 0) {
			return errors.New("a key is out of order")
		}
		before = key
		switch {
		case flags == pageBranch:
			above := high
			if i+1 < count {
				if above, _, _, err = element(page, flags, i+1); err != nil {
					return err
				}
			}
			err = w.tree(next, key, above, depth+1)
		case next&elemBucket != 0 && !inside:
			err = w.bucket(value, depth)
		case next != 0:
			err = errElement
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element returns an element's key; of a leaf its value and flags, of a branch the page below.
func element(page []byte, flags uint16, i int) (key, value []byte, next uint64, err error) {
	at := pageHead + i*pageElement
	n := binary.NativeEndian
	e := page[at:]
	var pos, ksize, vsize uint64
	if flags == pageBranch {
		pos, ksize, next = uint64(n.Uint32(e)), uint64(n.Uint32(e[4:])), n.Uint64(e[8:])
	} else {
		next, pos, ksize, vsize = uint64(n.Uint32(e)), uint64(n.Uint32(e[4:])), uint64(n.Uint32(e[8:])), uint64(n.Uint32(e[12:]))
	}
	start := uint64(at) + pos
	if start+ksize+vsize > uint64(len(page)) || ksize == 0 {
		return nil, nil, 0, errElement
	}
	return page[start : start+ksize], page[start+ksize : start+ksize+vsize], next, nil
}

func (w *pageWalk) bucket(value []byte, depth int) error {
	if len(value) < bucketHead {
		return errElement
	}
	root := binary.NativeEndian.Uint64(value)
	if root != 0 {
		if len(value) != bucketHead {
			return errElement
		}
		return w.tree(root, nil, nil, depth+1)
	}
	if len(value) < bucketHead+pageHead {
		return errElement
	}
	return w.content(value[bucketHead:], nil, nil, depth, true)
}
