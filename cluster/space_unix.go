//go:build unix

package cluster

import "golang.org/x/sys/unix"

// statSpace is the space a process without privileges may use, and the volume's size.
func statSpace(dir string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := uint64(s.Bsize)                                       // its type differs between systems
	return uint64(s.Bavail) * block, uint64(s.Blocks) * block, nil //nolint:unconvert // as above
}
