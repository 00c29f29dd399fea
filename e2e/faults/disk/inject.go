package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Fill takes up the volume's space until about leave bytes are free, and returns
// what gives it back.
func (v *Volume) Fill(leave int64) (free func() error, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(v.Dir, &s); err != nil {
		return nil, err
	}
	path := filepath.Join(v.Dir, "filler")
	free = func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return free, err
	}
	// What is asked for may not fit any more by the time it is taken: then the rest is taken in small parts.
	at, size := int64(0), int64(s.Bavail)*s.Bsize-leave
	for part := max(size, 0); part >= 4096; {
		err := syscall.Fallocate(int(f.Fd()), 0, at, part)
		switch {
		case err == nil && (leave > 0 || part == size):
			at += part
			if leave > 0 {
				return free, f.Close()
			}
			part = 1 << 20
		case err == nil:
			at += part
		case errors.Is(err, syscall.ENOSPC):
			part /= 2
		default:
			return free, errors.Join(err, f.Close())
		}
	}
	return free, f.Close()
}

// InjectSync makes the syncs of a running process fail or take their time, as
// strace's inject= has it ("error=EIO:when=3", "delay_exit=150000"). It returns what
// ends that. The process must run in this machine's name spaces.
func InjectSync(ctx context.Context, pid int, how string) (end func(), err error) {
	const calls = "fdatasync,fsync"
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-p", strconv.Itoa(pid),
		"-e", "trace="+calls, "-e", "inject="+calls+":"+how)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it lets go of the process
		_ = cmd.Wait()                         // of a traced process that ended is no matter here
	}
	for range 200 {
		if traced(pid) || !exists(pid) { // it may have ended of the first fault
			return end, nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	end()
	return nil, fmt.Errorf("%w: strace does not attach to %d", ErrUnusable, pid)
}

func exists(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// traced tells whether every thread has a tracer.
func traced(pid int) bool {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(tasks) == 0 {
		return false
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil || bytes.Contains(text, []byte("\nTracerPid:\t0\n")) {
			return false
		}
	}
	return true
}
