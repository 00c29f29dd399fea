package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// kept is how many mails stay in a directory.
const kept = 1000

// Directory writes each mail into a file of its own, NAME.eml, that only the server's user may read. The oldest go when there are more
// than a thousand.
type Directory string

// Deliver implements [Delivery]. The file appears whole or not at all.
func (d Directory) Deliver(_ context.Context, m *gomail.Msg) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(d), "*.part") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // nothing to remove once it has its name
	for _, part := range m.GetParts() {
		part.SetEncoding(gomail.NoEncoding) // links can be copied whole
	}
	_, err = m.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	name := time.Now().UTC().Format("20060102T150405.000000000") + "-" + rand.Text()[:8] + ".eml"
	if err := os.Rename(f.Name(), filepath.Join(string(d), name)); err != nil {
		return err
	}
	return d.prune()
}

// prune removes the oldest mails; names sort by time.
func (d Directory) prune() error {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	var mails []fs.DirEntry
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".eml") {
			mails = append(mails, e)
		}
	}
	for len(mails) > kept {
		if err := os.Remove(filepath.Join(string(d), mails[0].Name())); err != nil {
			return err
		}
		mails = mails[1:]
	}
	return nil
}
