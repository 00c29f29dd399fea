package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/flagraft/flagraft/bench/probe"
)

// profile runs a turn once more, outside the figures, and keeps what each node used
// in it: a profile of CPU time, and one of allocated objects.
func (b *bench) profile(ctx context.Context, p *play, t turn) error {
	if b.Profiles == "" || len(t.side.management) == 0 {
		return nil
	}
	seconds := max(1, int(b.Duration/time.Second))
	kinds := []string{"profile", "allocs"}
	errs := make([]error, len(t.side.management)*len(kinds))
	var wg sync.WaitGroup
	for i := range errs {
		node, kind := i/len(kinds), kinds[i%len(kinds)]
		url := fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", t.side.management[node], kind, seconds)
		file := filepath.Join(b.Profiles, profileName(p, t, node, kind))
		wg.Go(func() { errs[i] = fetch(ctx, url, file) })
	}
	_, err := b.once(ctx, p, t, time.Duration(seconds)*time.Second)
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// profileName has the side in it: one scenario may measure two of the same nodes.
func profileName(p *play, t turn, node int, kind string) string {
	return fmt.Sprintf("%s-c%d-%s-node%d.%s.pb.gz", p.Name, p.Conns, t.side.name, node, kind)
}

// discard reads to the end.
func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func fetch(ctx context.Context, url, file string) error {
	return probe.Get(ctx, url, time.Minute, func(body io.Reader) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, body)
		return errors.Join(err, f.Close())
	})
}
