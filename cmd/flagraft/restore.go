package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/fsm"
)

const (
	// restorePart is how much of a backup is sent at once.
	restorePart = 512 << 10
	// restoreTries bounds how often a part is sent that nobody answered for.
	restoreTries = 30
)

func newBackupRestoreCommand() *cobra.Command {
	var node remote
	var force bool
	var form outputFormat
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace everything in a running cluster by a backup",
		Long: "Replace everything in a running cluster by a backup: flags, users, keys, sign-ins. All nodes switch at once, clients follow within\n" +
			"seconds, and what was written since the backup is gone (take a backup first). Without --force it is refused while there are projects.\n" +
			"A new cluster can start from a backup instead: flagraft serve --restore-from FILE.",
		Example: "  flagraft backup create -o before.backup && flagraft backup restore --force monday.backup",
		Args:    exactly(1, "one backup file"),
	}
	form.register(cmd)
	node.register(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "also when there are projects, which are removed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return &codedError{exitUsage, err}
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h, err := fsm.CheckBackup(bufio.NewReaderSize(f, 1<<20))
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var done struct {
			Index        string `json:"index"`
			Epoch        string `json:"epoch"`
			Environments int    `json:"environments"`
		}
		if err := sendBackup(cmd.Context(), &node, newProgress(cmd.ErrOrStderr(), "sent", f, info.Size()), force, &done, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if shown, err := form.json(cmd.OutOrStdout(), done); shown {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored the state of %s (%d environments) at index %s, epoch %s\n",
			h.StateTime.Std().Format(time.RFC3339), done.Environments, done.Index, done.Epoch)
		return err
	}
	return cmd
}

// sendBackup sends a backup part by part and makes the switch; out takes the answer. It says on notes why it waits.
func sendBackup(ctx context.Context, node *remote, backup io.Reader, force bool, out any, notes io.Writer) error {
	base := "/api/flagraft/v1/restores/" + uuid.NewString() + "/"
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	buf := make([]byte, restorePart)
	for offset := int64(0); ; {
		n, err := io.ReadFull(backup, buf)
		if n > 0 {
			path := fmt.Sprintf("%sparts/%d/?%s", base, offset, query.Encode())
			if err := insist(ctx, notes, func() error { return node.call(ctx, "PUT", path, buf[:n], nil) }); err != nil {
				return err
			}
			offset += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			query.Set("bytes", fmt.Sprint(offset))
			return makeSwitch(ctx, node, base+"apply/?"+query.Encode(), out, notes)
		case err != nil:
			return err
		}
	}
}

// makeSwitch asks for the switch until it is answered. What refuses a second attempt may say that nothing was written, and mean that attempt: the
// first one may be made all the same. It surely is where the token, which was good for all parts, is none any more.
func makeSwitch(ctx context.Context, node *remote, path string, out any, notes io.Writer) error {
	tries := 0
	err := insist(ctx, notes, func() error { tries++; return node.call(ctx, "POST", path, nil, out) })
	var no *refused
	switch {
	case tries < 2 || !errors.As(err, &no):
		return err
	case no.status == http.StatusUnauthorized:
		return fmt.Errorf("the answer to the switch was lost, and your token, which was good before it, is not any more: most likely the backup is restored. "+
			"Sign in with an account of the backup and look (%w)", err)
	default:
		return fmt.Errorf("it was not the first attempt, and an earlier one may be made: the backup may be restored all the same. Look before you send it again (%w)", err)
	}
}

// insist repeats what may be repeated while the node asks for it or cannot be reached.
func insist(ctx context.Context, notes io.Writer, try func() error) (err error) {
	for i := range restoreTries {
		if err = try(); err == nil || exitCode(err) == exitUsage {
			return err
		}
		var no *refused
		if errors.As(err, &no) && no.status != http.StatusServiceUnavailable && no.status != http.StatusTooManyRequests {
			return err
		}
		if i == 0 {
			_, _ = fmt.Fprintf(notes, "trying again for a while: %v\n", err) // it goes on in any case
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return err
}
