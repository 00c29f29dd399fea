package bench

import (
	"context"
	"errors"

	"github.com/flagraft/flagraft/bench/load"
	"github.com/flagraft/flagraft/bench/seed"
)

const (
	nameImport = "bulk-import"
	whatImport = "bulk import of %s identities into three nodes"
)

// importConns is how many connections an import uses.
const importConns = 32

// imports measures how long many new identities take into three nodes, the last one acknowledged after commit. Each import comes to what those before it have left.
func (b *bench) imports(ctx context.Context, dir string) error {
	if !b.wants(nameImport) {
		return nil
	}
	cluster, project, err := b.start(ctx, dir, 3, manyIdentities...)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	trio, requests := sideOf(cluster), b.Profile.Requests(project.EnvironmentKey)
	f := newFigure(nameImport, "s", whatImport, count(float64(b.Import)))
	for range min(b.Runs, 3) {
		f.Conditions, err = trio.during(ctx, func() error {
			g, err := load.Dial(importConns, trio.addrs...)
			if err != nil {
				return err
			}
			r, err := g.Run(ctx, load.Options{Source: requests.Bulk(b.prefix()), Count: b.Import / seed.BulkSize})
			if err == nil {
				err = r.Err()
			}
			if err == nil && r.Unpersisted > 0 {
				err = errors.New("some identities are not known to be stored")
			}
			if err = errors.Join(err, g.Close()); err != nil {
				return err
			}
			f.Values = append(f.Values, r.Elapsed.Seconds())
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.figure(f)
	return nil
}
