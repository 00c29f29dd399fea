package destination

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// directory is a directory on this machine, or one that it mounts. It cannot be
// left: links that lead out of the root are refused by [os.Root].
type directory struct {
	root, path string // path is relative to root
}

func openDirectory(target, root string) (*directory, error) {
	if root == "" {
		return nil, fmt.Errorf("%w: this node has no backup directory", ErrTarget)
	}
	path := filepath.Clean(target)
	if filepath.IsAbs(path) {
		base, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		if path, err = filepath.Rel(base, path); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTarget, err)
		}
	}
	if target == "" || !filepath.IsLocal(path) {
		return nil, fmt.Errorf("%w: %s is not below this node's backup directory %s", ErrTarget, target, root)
	}
	return &directory{root: root, path: path}, nil
}

// open makes and opens the directory.
func (d *directory) open() (*os.Root, error) {
	if err := os.MkdirAll(d.root, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only opened
	if err := root.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	return root.OpenRoot(d.path)
}

// Unfinished files have this ending. One that is older than unfinishedAge was left by a node that died.
const (
	unfinished    = ".unfinished"
	unfinishedAge = 24 * time.Hour
)

// Put writes to a file of another name, fsyncs and renames it. Mode 0600.
func (d *directory) Put(ctx context.Context, name string, write func(io.Writer) error) (n int64, err error) {
	dir, err := d.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = dir.Close() }() // only opened
	sweep(dir)
	partial := "." + name + unfinished
	f, err := dir.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = f.Close() // closed already unless something failed
		if err != nil {
			_ = dir.Remove(partial) // else swept later
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	c := &counted{w: b}
	if err := errors.Join(write(&abortable{ctx, c}), b.Flush()); err != nil {
		return 0, err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	if err := dir.Rename(partial, name); err != nil {
		return 0, err
	}
	return c.n, syncDirectory(dir)
}

// sweep removes what nodes that died left behind.
func sweep(dir *os.Root) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), unfinished) &&
			time.Since(info.ModTime()) > unfinishedAge {
			_ = dir.Remove(e.Name()) // the next time, then
		}
	}
}

func syncDirectory(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// List names the files.
func (d *directory) List(_ context.Context, prefix string) ([]string, error) {
	dir, err := d.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only opened
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove deletes a file.
func (d *directory) Remove(_ context.Context, name string) error {
	dir, err := d.open()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // only opened
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDirectory(dir)
}

// abortable fails once its context has ended: a leader that lost its place stops writing.
type abortable struct {
	ctx context.Context
	w   io.Writer
}

func (a *abortable) Write(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.w.Write(p)
}
