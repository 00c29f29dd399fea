package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flagraft/flagraft/cluster"
)

// directory is the data directory, or the one above it that is there, for a node that was never started.
func (p *patient) directory() string {
	dir := p.settings.DataDir
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return dir
		}
		dir = above
	}
}

func (p *patient) checkSpace(context.Context) {
	s, err := cluster.DiskSpace(p.directory(), uint64(max(p.settings.MinFreeDiskMB, 0))<<20)
	switch {
	case err != nil:
		p.found("disk space", Problem, "The data directory must be on a volume that this user can look at: --data-dir.", "%v", err)
	case s.Low:
		p.found("disk space", Problem, "Free space on the volume of the data directory; below the minimum the cluster takes no writes (docs/operations/disks.md).",
			"%d MB free of %d MB, at least %d MB wanted", s.Free>>20, s.Total>>20, s.Min>>20)
	case s.Free < 2*s.Min:
		p.found("disk space", Warning, "Enlarge the volume soon: a snapshot needs its own size once more.", "%d MB free of %d MB, at least %d MB wanted", s.Free>>20, s.Total>>20, s.Min>>20)
	default:
		p.found("disk space", OK, "", "%d MB free of %d MB, at least %d MB wanted", s.Free>>20, s.Total>>20, s.Min>>20)
	}
}

// How the disk is measured: writes as small as most entries are, each synced as the log's are.
const (
	syncs     = 200
	syncTime  = 3 * time.Second
	syncBytes = 4 << 10
)

// What a synced write may take, in the middle of many.
const (
	slowSync     = 10 * time.Millisecond
	hopelessSync = 100 * time.Millisecond
)

func (p *patient) checkDisk(ctx context.Context) {
	took, err := measureSyncs(ctx, p.directory())
	if err != nil {
		p.found("disk speed", Problem, "The user that runs the node must be able to write into the data directory: --data-dir.", "%v", err)
		return
	}
	slices.Sort(took)
	middle, worst := took[len(took)/2], took[len(took)-1]
	status, advice := OK, "Every write waits for this on a majority of the nodes. Use a local SSD; network disks and SD cards are slow at this."
	switch {
	case middle > hopelessSync:
		status = Problem
	case middle > slowSync:
		status = Warning
	}
	p.found("disk speed", status, advice, "a synced write takes %v, the slowest of %d took %v", middle.Round(10*time.Microsecond), len(took), worst.Round(10*time.Microsecond))
}

func measureSyncs(ctx context.Context, dir string) (took []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, syncBytes)
	for begin := time.Now(); len(took) < syncs && (len(took) == 0 || time.Since(begin) < syncTime && ctx.Err() == nil); {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}
