package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/fsm"
)

func newBackupCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "backup",
		Short: "Take, check and restore backups",
		Long:  "A backup is one checked file with everything a cluster holds. It has secrets in it (keys, password hashes): keep it as such.\n\n" + exitCodes,
		Example: `  export FLAGRAFT_URL=http://10.0.0.1:8000 FLAGRAFT_TOKEN=…
  flagraft backup create -o monday.backup
  flagraft backup verify monday.backup
  flagraft backup restore monday.backup`,
	})
	cmd.AddCommand(newBackupCreateCommand(), newBackupVerifyCommand(), newBackupRestoreCommand(), newScheduleCommand())
	return cmd
}

func newBackupCreateCommand() *cobra.Command {
	var node remote
	var out, consistency string
	cmd := &cobra.Command{
		Use:     "create -o FILE",
		Short:   "Take a backup from a running node, which goes on working",
		Args:    exactly(0, "no arguments"),
		Example: "  FLAGRAFT_TOKEN=… flagraft backup create -o monday.backup --url http://node1:8000",
	}
	node.register(cmd.Flags())
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write; it appears whole or not at all (mode 0600)")
	cmd.Flags().StringVar(&consistency, "consistency", "", "linearizable: every write acknowledged before; local: what the node has applied (default: linearizable while there is a leader)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch out {
		case "":
			return usageError("-o FILE is missing: where should the backup go?")
		case "-": // what export takes for the terminal
			return usageError("-o -: a backup goes to a file, since it is checked before it appears (./- for one of that name)")
		}
		path := "/api/flagraft/v1/backup/"
		resp, err := node.do(cmd.Context(), "GET", path, nil, header{"Flagraft-Consistency", consistency})
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }() // only read
		var h fsm.BackupHeader
		size, err := writeWhole(out, func(f *os.File) error {
			if _, err := io.Copy(f, newProgress(cmd.ErrOrStderr(), "received", resp.Body, resp.ContentLength)); err != nil {
				return fmt.Errorf("the backup broke off: %w", err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			h, err = fsm.CheckBackup(bufio.NewReaderSize(f, 1<<20))
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes, index %d, state of %s, %s, node's age %s ms\n", out, size, h.Index,
			h.StateTime.Std().Format(time.RFC3339), resp.Header.Get("Flagraft-Consistency"), resp.Header.Get("Flagraft-Age"))
		return err
	}
	return cmd
}

// writeWhole makes a file that appears under its name only when fill has succeeded and its bytes are on disk; it returns its size.
func writeWhole(name string, fill func(*os.File) error) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return 0, &codedError{exitUsage, err}
	}
	defer func() {
		_ = f.Close() // closed already unless something failed
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, err
	}
	return info.Size(), syncDirectory(filepath.Dir(name))
}

func syncDirectory(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	return d.Sync()
}

func newBackupVerifyCommand() *cobra.Command {
	var form outputFormat
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a backup offline, and show what it holds",
		Long: "Check a backup as a restore would: every checksum, that every row and identity can be read, the hash of the state, the counts. It needs\n" +
			"the memory of the state in it. The exit code is 0 for a good backup, 1 for anything else, 2 when the file cannot be opened.",
		Example: "  flagraft backup verify monday.backup\n  flagraft backup verify monday.backup -o json | jq .identities",
		Args:    exactly(1, "one backup file"),
	}
	form.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return &codedError{exitUsage, err}
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return &codedError{exitUsage, err}
		}
		h, err := fsm.VerifyBackup(bufio.NewReaderSize(newProgress(cmd.ErrOrStderr(), "read", f, info.Size()), 1<<20))
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		return printBackup(cmd.OutOrStdout(), args[0], info.Size(), &h, form)
	}
	return cmd
}

// backupReport is what verify tells as JSON.
type backupReport struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	fsm.BackupHeader
	StateTime time.Time `json:"state_time"`
	Taken     time.Time `json:"taken"`
}

func printBackup(w io.Writer, file string, size int64, h *fsm.BackupHeader, form outputFormat) error {
	report := backupReport{File: file, Bytes: size, BackupHeader: *h, StateTime: h.StateTime.Std(), Taken: h.Taken.Std()}
	if done, err := form.json(w, report); done {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range [][2]any{
		{"file", file}, {"bytes", size}, {"cluster", h.Cluster}, {"installation", h.Installation}, {"epoch", h.Epoch}, {"node", h.Node},
		{"taken", h.Taken.Std().Format(time.RFC3339)}, {"state of", h.StateTime.Std().Format(time.RFC3339Nano)}, {"index", h.Index}, {"term", h.Term},
		{"format level", h.Level}, {"flagraft", h.Version}, {"state hash", h.StateHash}, {"identities", h.Identities},
	} {
		_, _ = fmt.Fprintf(t, "%v\t%v\n", line[0], line[1]) // Flush tells
	}
	for _, c := range h.Tables {
		_, _ = fmt.Fprintf(t, "%s\t%d\n", c.Name, c.Rows)
	}
	_, _ = fmt.Fprintln(t, "good: every checksum, row and count holds")
	return t.Flush()
}
