package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// diskWatch notices a write that does not return. A leader with a hung disk
// would go on sending heartbeats and keep the cluster stuck for ever
// (hashicorp/raft#503), so the node has to leave.
type diskWatch struct {
	outstanding atomic.Int64
	progress    atomic.Uint64 // grows when a write ends or the first one begins
}

func (d *diskWatch) begin() {
	if d.outstanding.Add(1) == 1 {
		d.progress.Add(1)
	}
}

func (d *diskWatch) end() {
	d.outstanding.Add(-1)
	d.progress.Add(1)
}

const watchTicks = 10

// run calls fatal once when a write is outstanding for limit. It counts its own
// ticks and not the clock, so a process that was paused does not die of it.
func (d *diskWatch) run(ctx context.Context, limit time.Duration, fatal func(error)) {
	ticker := time.NewTicker(limit / watchTicks)
	defer ticker.Stop()
	var seen uint64
	for ticks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := d.progress.Load()
		if d.outstanding.Load() == 0 || now != seen {
			seen, ticks = now, 0
			continue
		}
		if ticks++; ticks >= watchTicks {
			fatal(fmt.Errorf("%w: a log write is outstanding for %v", ErrDiskHung, limit))
			return
		}
	}
}
