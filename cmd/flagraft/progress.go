package main

import (
	"fmt"
	"io"
	"time"
)

// progressEvery is how often a line of progress is printed; what is faster prints none.
const progressEvery = time.Second

// progress passes a stream on and prints how far it is.
type progress struct {
	r        io.Reader
	out      io.Writer
	verb     string
	n        int64
	began    time.Time
	reported time.Time
}

func newProgress(out io.Writer, verb string, r io.Reader) *progress {
	now := time.Now()
	return &progress{r: r, out: out, verb: verb, began: now, reported: now}
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	if now := time.Now(); now.Sub(p.reported) >= progressEvery {
		p.reported = now
		mb := float64(p.n) / 1e6
		_, _ = fmt.Fprintf(p.out, "%s %.1f MB, %.1f MB/s\n", p.verb, mb, mb/now.Sub(p.began).Seconds()) // nobody may be reading
	}
	return n, err
}
