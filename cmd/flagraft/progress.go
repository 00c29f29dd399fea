package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progressAfter is how long something runs before its progress is shown; what is faster shows none. progressEvery is how often it is told in
// plain lines.
const (
	progressAfter = 2 * time.Second
	progressEvery = 2 * time.Second
)

// gauge shows how far something is: a bar on a terminal, plain lines elsewhere, with the rate and, when the end is known, the time left.
type gauge struct {
	out    io.Writer
	verb   string
	total  int64 // 0: unknown
	amount func(n int64) string
	unit   any // of the bar's decorators
	n      int64
	began  time.Time
	told   time.Time
	bars   *mpb.Progress
	bar    *mpb.Bar
}

func newGauge(out io.Writer, verb string, total int64, unit any, amount func(int64) string) *gauge {
	return &gauge{out: out, verb: verb, total: max(total, 0), unit: unit, amount: amount, began: time.Now()}
}

// to moves it to n.
func (g *gauge) to(n int64) {
	g.n = n
	now := time.Now()
	switch {
	case g.bar != nil:
		g.bar.SetCurrent(n)
	case now.Sub(g.began) < progressAfter:
	case isTerminal(g.out):
		g.show()
	case now.Sub(g.told) >= progressEvery:
		g.told = now
		_, _ = fmt.Fprintln(g.out, g.line(now)) // nobody may be reading
	}
}

// line is the progress in words.
func (g *gauge) line(now time.Time) string {
	rate := float64(g.n) / now.Sub(g.began).Seconds()
	text := g.verb + " " + g.amount(g.n)
	if g.total == 0 {
		return fmt.Sprintf("%s, %s/s", text, g.amount(int64(rate)))
	}
	text += fmt.Sprintf(" of %s (%d %%), %s/s", g.amount(g.total), 100*g.n/g.total, g.amount(int64(rate)))
	if rate > 0 {
		left := time.Duration(float64(g.total-g.n) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// show puts the bar on the terminal.
func (g *gauge) show() {
	g.bars = mpb.New(mpb.WithOutput(g.out), mpb.WithWidth(60), mpb.WithRefreshRate(150*time.Millisecond))
	var after []decor.Decorator
	style := mpb.BarStyle()
	if g.total > 0 {
		after = append(after, decor.Percentage(), decor.Name(" "))
	}
	after = append(after, decor.NewAverageSpeed(g.unit, "% .1f", g.began))
	if g.total > 0 {
		after = append(after, decor.Name(" "), decor.NewAverageETA(decor.ET_STYLE_GO, g.began, nil), decor.Name(" left"))
	}
	g.bar = g.bars.New(g.total, style, mpb.PrependDecorators(decor.Name(g.verb+" ")), mpb.AppendDecorators(after...))
	g.bar.SetCurrent(g.n)
}

// end takes the bar's last picture; calling it again does nothing.
func (g *gauge) end() {
	if g.bar == nil {
		return
	}
	if g.total == 0 || g.n >= g.total {
		g.bar.SetTotal(g.n, true)
	} else {
		g.bar.Abort(false)
	}
	g.bars.Wait()
	g.bar = nil
	g.began = time.Now() // no second one
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// progress passes a stream on and shows how far it is.
type progress struct {
	r io.Reader
	*gauge
}

// newProgress is for a stream of a size; below 1 it is not known.
func newProgress(out io.Writer, verb string, r io.Reader, size int64) *progress {
	return &progress{r: r, gauge: newGauge(out, verb, size, decor.SizeB1000(0), megabytes)}
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.to(p.n + int64(n))
	if err != nil {
		p.end()
	}
	return n, err
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// steps is the progress of a number of things, one after the other.
type steps struct{ *gauge }

func newSteps(out io.Writer, verb string, total int) *steps {
	return &steps{newGauge(out, verb, int64(total), 0, func(n int64) string { return fmt.Sprint(n) })}
}

func (s *steps) step() { s.to(s.n + 1) }
