package fsm

import (
	"io"
	"runtime"
	"sync/atomic"
	"time"
)

// A snapshot or a backup can wait, requests cannot: it takes a small part of the
// processor and rests in between. On a machine with many cores it goes on without a
// rest.
const (
	// paceStep is how much is compressed between two looks at the clock: a request may have to wait for it. Left alone the
	// compressor gathers 128 KB, which take it half a millisecond; in steps of this size it writes as little and as fast.
	paceStep = 32 << 10
	// paceRest is what a rest is for at least: the timers of an idle process are no finer.
	paceRest = time.Millisecond
	// paceCredit bounds a rest, and what one that took too long makes up for. Compressing a
	// step takes far less; what takes longer is a slow disk or client, and waiting for those
	// leaves the processor to others anyway.
	paceCredit = 5 * time.Millisecond
	// paceShare: a snapshot takes one of so many parts of the cores that the process may use.
	paceShare = 24
)

// pace is what snapshots and backups under way go by beside their share.
type pace struct {
	hurry   atomic.Bool // somebody waits for them: no rests any more
	arrears atomic.Pointer[func() float64]
}

// behind is how many times over the log is due for a snapshot, at least 1.
func (p *pace) behind() float64 {
	if f := p.arrears.Load(); f != nil {
		return max(1, (*f)())
	}
	return 1
}

// flushWriter is a compressor.
type flushWriter interface {
	io.Writer
	Flush() error
}

// pacedWriter rests after each step for as long as the share asks for.
type pacedWriter struct {
	w     flushWriter
	pace  *pace
	rest  float64       // times the time that was worked
	began time.Time     // of the work since the last look
	owed  time.Duration // rest that is due; below 0: more was taken
}

func newPacedWriter(w flushWriter, pace *pace) *pacedWriter {
	return &pacedWriter{w: w, pace: pace, rest: max(0, float64(paceShare)/float64(runtime.GOMAXPROCS(0))-1), began: time.Now()}
}

func (p *pacedWriter) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		var m int
		m, err = p.w.Write(b[n:min(n+paceStep, len(b))])
		n += m
		if err == nil && m == paceStep {
			err = p.w.Flush()
		}
		p.pause()
	}
	return n, err
}

// pause rests if enough is owed for the work since the last look.
func (p *pacedWriter) pause() {
	now := time.Now()
	p.owed = min(p.owed+time.Duration(float64(now.Sub(p.began))*p.rest/p.pace.behind()), paceCredit)
	p.began = now
	if p.owed < paceRest || p.pace.hurry.Load() {
		return
	}
	time.Sleep(p.owed)
	p.began = time.Now()
	p.owed = max(p.owed-p.began.Sub(now), -paceCredit)
}
