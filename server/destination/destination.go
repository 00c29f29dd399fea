// Package destination puts files where backups are kept: directories and
// S3-compatible storage. A file appears under its name whole or not at all.
package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Destination keeps files by name. Names have no separators.
type Destination interface {
	// Put stores what write produces and returns its size. An error of write is
	// returned, and then nothing is stored.
	Put(ctx context.Context, name string, write func(io.Writer) error) (int64, error)
	// List returns the names that begin with prefix, in order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove deletes a file; one that is gone is no error.
	Remove(ctx context.Context, name string) error
}

// Config is what the nodes' settings say of destinations.
type Config struct {
	// Root is the directory below which directory targets lie.
	Root string
	// AccessKey and SecretKey are for S3. Without them the usual places are asked:
	// the AWS_ and MINIO_ variables, the AWS credentials file, the machine's role.
	AccessKey, SecretKey string

	stall time.Duration // of tests; 0: stallAfter
}

// ErrTarget is the error of a target that cannot be one.
var ErrTarget = errors.New("not a target")

const s3Scheme = "s3://"

// Open returns the destination that a target names: "s3://bucket/prefix", with
// ?endpoint=https://host:port&region=… for storage other than Amazon's, or a
// directory, relative to the configured root or absolute below it. Nothing is
// connected to yet.
func Open(target string, c Config) (Destination, error) {
	if strings.HasPrefix(target, s3Scheme) {
		return openBucket(target, c)
	}
	return openDirectory(target, c.Root)
}

// Check reports whether a target is well formed, as far as that can be told
// without the settings of the node that will use it.
func Check(target string) error {
	switch {
	case strings.HasPrefix(target, s3Scheme):
		_, err := parseBucket(target)
		return err
	case target == "" || strings.ContainsRune(target, 0) || strings.Contains(target, "://"):
		return fmt.Errorf("%w: write a directory or s3://bucket/prefix", ErrTarget)
	case !filepath.IsAbs(target) && !filepath.IsLocal(filepath.Clean(target)):
		return fmt.Errorf("%w: %s is not below any node's backup directory", ErrTarget, target)
	}
	return nil
}

// counted counts what goes through it.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
