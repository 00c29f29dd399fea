package server

import (
	"bufio"
	"context"
	"fmt"
	"os"

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

// checkRestoreFile refuses to start a new installation from a file that is no whole backup.
func (n *Node) checkRestoreFile() error {
	if !n.awaitsRestore() {
		return nil
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
	return nil
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
	n.log.Info("restored", "file", n.settings.RestoreFrom, "index", index)
	return nil
}
