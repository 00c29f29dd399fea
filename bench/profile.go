package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// profile runs a turn once more, outside the figures, and keeps a CPU profile of each
// node.
func (b *bench) profile(ctx context.Context, p *play, t turn) error {
	if b.Profiles == "" || len(t.side.management) == 0 {
		return nil
	}
	seconds := max(1, int(b.Duration/time.Second))
	errs := make([]error, len(t.side.management))
	var wg sync.WaitGroup
	for i, addr := range t.side.management {
		file := filepath.Join(b.Profiles, fmt.Sprintf("%s-c%d-node%d.pprof", p.Name, p.Conns, i))
		wg.Go(func() {
			errs[i] = fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, seconds), file)
		})
	}
	_, err := b.once(ctx, p, t, time.Duration(seconds)*time.Second)
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

func fetch(ctx context.Context, url, file string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}
