// Package disk gives nodes disks of their own that a test can fill, freeze, slow
// down, break and cut off from power: ext4 images on loop devices. It needs root.
package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Volume is an ext4 file system in an image file, mounted on a loop device.
type Volume struct {
	Dir string // mount point

	image string
	loop  string // "loop3"
	cuts  int
}

// ErrUnusable says that this machine cannot mount images: not root, or no loop devices.
var ErrUnusable = errors.New("disk: no loop mounts here")

// NewVolume makes an image of size bytes beside dir and mounts it on dir. Close
// removes both.
func NewVolume(ctx context.Context, dir string, size int64) (*Volume, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: not root", ErrUnusable)
	}
	v := &Volume{Dir: dir, image: dir + ".img"}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := makeImage(ctx, v.image, size); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if err := v.mount(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnusable, err), v.Close())
	}
	return v, nil
}

func makeImage(ctx context.Context, path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	// Nothing is initialised later in the background: a copy shall not change under the reader.
	return command(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", path)
}

func (v *Volume) mount(ctx context.Context) error {
	if err := command(ctx, "mount", "-o", "loop,noatime", v.image, v.Dir); err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if device, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(rest, v.Dir+" ") {
			v.loop = filepath.Base(device)
		}
	}
	return nil
}

// CutPower makes the volume what a disk holds after its power failed: the caller
// has stopped (not ended) every process that writes to it; CutPower copies the
// image, end ends the processes, and the copy takes the image's place. Whatever
// was written but not synced is gone. Torn and reordered sectors are not modelled.
func (v *Volume) CutPower(ctx context.Context, end func()) error {
	v.cuts++
	image := fmt.Sprintf("%s.img%d", v.Dir, v.cuts)
	if err := v.copyStill(ctx, image); err != nil {
		return err
	}
	end()
	if err := v.unmount(); err != nil {
		return err
	}
	if err := os.Remove(v.image); err != nil {
		return err
	}
	v.image = image
	return v.mount(ctx)
}

// copyStill copies the image at one point in time: again if the device was
// written to meanwhile, which the kernel does every few seconds.
func (v *Volume) copyStill(ctx context.Context, to string) error {
	for range 10 {
		before, err := v.writes()
		if err != nil {
			return err
		}
		if err := command(ctx, "cp", "--sparse=always", v.image, to); err != nil {
			return err
		}
		after, err := v.writes()
		if err != nil {
			return err
		}
		if before == after {
			return nil
		}
	}
	return fmt.Errorf("disk: %s is never still", v.image)
}

// writes tells how much was written to the device, and what is under way.
func (v *Volume) writes() (string, error) {
	raw, err := os.ReadFile("/sys/block/" + v.loop + "/stat")
	if err != nil {
		return "", err
	}
	f := strings.Fields(string(raw)) // see Documentation/block/stat.rst
	if len(f) < 9 {
		return "", fmt.Errorf("disk: statistics of %s: %q", v.loop, raw)
	}
	return strings.Join([]string{f[4], f[6], f[8]}, " "), nil
}

func (v *Volume) unmount() error {
	v.loop = ""
	var err error
	for range 50 { // the kernel lets go of a killed process's files a little later
		if err = command(context.Background(), "umount", v.Dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Join(err, command(context.Background(), "umount", "-l", v.Dir))
}

// Wipe removes everything on the volume.
func (v *Volume) Wipe() error {
	files, err := os.ReadDir(v.Dir)
	errs := []error{err}
	for _, f := range files {
		errs = append(errs, os.RemoveAll(filepath.Join(v.Dir, f.Name())))
	}
	return errors.Join(errs...)
}

// Unmount leaves the image, which can be mounted by hand. Processes that use the volume must be gone.
func (v *Volume) Unmount() error {
	if v.loop == "" {
		return nil
	}
	return errors.Join(v.Thaw(), v.unmount())
}

// Close unmounts and removes the volume. Processes that use it must be gone.
func (v *Volume) Close() error {
	errs := []error{v.Unmount()}
	if err := os.Remove(v.image); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Freeze makes every write and sync of the volume wait until Thaw.
func (v *Volume) Freeze(ctx context.Context) error { return command(ctx, "fsfreeze", "-f", v.Dir) }

// Thaw ends Freeze. It is no error if nothing is frozen.
func (v *Volume) Thaw() error {
	if err := command(context.Background(), "fsfreeze", "-u", v.Dir); err != nil && !strings.Contains(err.Error(), "Invalid argument") {
		return err
	}
	return nil
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
