package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flagraft/flagraft/fsm"
)

// A new installation can start from a backup (--restore-from). Its first leader restores the file before anything else is founded; until then
// no node that was told of the file is ready.

// fresh reports whether nobody ever did anything in the installation.
func fresh(s *fsm.State) bool {
	for range fsm.Users.Refs(s) {
		return false
	}
	for range fsm.ChangeLog.Refs(s) {
		return false // a backup of nothing was restored, for one
	}
	return s.Empty()
}

// awaitsRestore reports whether the file is still to be restored.
func (n *Node) awaitsRestore() bool { return n.settings.RestoreFrom != "" && fresh(n.fsm.State()) }

// restoringFile is in the data directory of a node that began as one of a new installation that a backup becomes. It means nothing once
// the installation holds something.
const restoringFile = "restoring"

func (n *Node) restoringPath() string { return filepath.Join(n.settings.DataDir, restoringFile) }

// endRestoring removes the file.
func (n *Node) endRestoring() {
	if err := os.Remove(n.restoringPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("a file that says that a backup is restored stays, and means nothing any more", "error", err)
	}
}

// checkRestoreFile refuses to start a new installation from a file that is no whole backup, and to start one as an empty installation that a
// backup was to become: it would be used, and the backup never restored.
func (n *Node) checkRestoreFile() error {
	if !fresh(n.fsm.State()) {
		n.endRestoring()
		return nil
	}
	if n.settings.RestoreFrom == "" {
		begun, err := os.ReadFile(n.restoringPath())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%s began to start from the backup %q and ended before that was restored: start it with --restore-from again, "+
			"or with an empty --data-dir for an installation that holds nothing", n.settings.DataDir, begun))
	}
	f, err := os.Open(n.settings.RestoreFrom)
	if err != nil {
		return fmt.Errorf("restore-from: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	h, err := fsm.CheckBackup(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return fmt.Errorf("restore-from %s: %w", n.settings.RestoreFrom, err)
	}
	n.log.Info("a new installation starts from a backup", "file", n.settings.RestoreFrom, "installation", h.Installation, "index", h.Index,
		"state_of", h.StateTime.Std())
	return os.WriteFile(n.restoringPath(), []byte(n.settings.RestoreFrom), 0o600)
}

// restoreFile restores the file, once.
func (n *Node) restoreFile(ctx context.Context) error {
	if n.settings.RestoreFrom == "" {
		return nil
	}
	if !n.fsm.State().Born() {
		return fsm.ErrNotBorn // the Writer sees to it
	}
	if !fresh(n.fsm.State()) {
		n.log.Info("restore-from means nothing any more: the installation holds something")
		return nil
	}
	f, err := os.Open(n.settings.RestoreFrom)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	index, err := n.Restore(ctx, f, false, fsm.Author{Name: "--restore-from"})
	if err != nil {
		return fmt.Errorf("restore-from: %w", err)
	}
	n.endRestoring()
	n.log.Info("restored", "file", n.settings.RestoreFrom, "index", index)
	return nil
}
