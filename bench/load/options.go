package load

import (
	"errors"
	"time"
)

// Source appends one request, head and body, to dst. It is called by one goroutine.
type Source func(dst []byte) []byte

// Options say what a run does.
type Options struct {
	Source   Source
	Rate     float64       // requests a second in the open loop; 0 is the closed loop
	Duration time.Duration // of sending; answers are awaited beyond it
	Count    int           // when above 0: send this many requests instead, closed loop only
	Status   int           // the one status that is no refusal; 0: any 2xx
}

// grace is how long answers, and requests that fell due before the end of an open
// run, are awaited after it.
const grace = 10 * time.Second

func (o *Options) check() error {
	switch {
	case o.Source == nil:
		return errors.New("load: no source")
	case o.Rate < 0:
		return errors.New("load: the rate is negative")
	case o.Rate > 0 && o.Count > 0:
		return errors.New("load: a count belongs to the closed loop")
	case o.Duration <= 0 && o.Count <= 0:
		return errors.New("load: neither duration nor count")
	}
	return nil
}
