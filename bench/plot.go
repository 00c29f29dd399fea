package bench

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

// plot is a picture of lines over values that are equally far apart, since sizes grow
// by factors.
type plot struct {
	title, unit string
	at          []string
	lines       []plotLine
}

type plotLine struct {
	name   string
	values []float64 // one for each value of the plot
	dashed bool
}

var plotColours = []string{"#1f5fa8", "#c2571a", "#2f7d3b", "#7a3e9d", "#8a6d00", "#555555"}

// svg draws it, legend below.
func (p *plot) svg() []byte {
	const width, height, left, right, top = 720.0, 300.0, 60.0, 20.0, 40.0
	w := &bytes.Buffer{}
	highest := 0.0
	for _, l := range p.lines {
		highest = max(highest, slices.Max(l.values))
	}
	step := niceStep(highest / 5)
	highest = max(step, step*math.Ceil(highest/step))
	x := func(i int) float64 { return left + (width-left-right)*float64(i)/float64(max(1, len(p.at)-1)) }
	y := func(v float64) float64 { return top + height*(1-v/highest) }
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(w, `<text x="%.0f" y="%.0f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
	}
	total := top + height + 60 + 18*float64(len(p.lines))
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, total)
	fmt.Fprintf(w, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, total)
	text(left, 20, "start", p.title)
	for v := 0.0; v <= highest+step/2; v += step {
		fmt.Fprintf(w, `<path d="M%.0f %.1fH%.0f" stroke="#dddddd"/>`+"\n", left, y(v), width-right)
		text(left-8, y(v)+4, "end", fmt.Sprintf("%g", v))
	}
	for i, s := range p.at {
		text(x(i), top+height+18, "middle", s)
	}
	text((left+width-right)/2, top+height+36, "middle", p.unit)
	for i, l := range p.lines {
		colour, dash := plotColours[i%len(plotColours)], ""
		if l.dashed {
			dash = ` stroke-dasharray="5 4"`
		}
		path := ""
		for j, v := range l.values {
			path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(j, 1)], x(j), y(v))
		}
		fmt.Fprintf(w, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path, colour, dash)
		for j, v := range l.values {
			fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(j), y(v), colour)
		}
		at := top + height + 56 + 18*float64(i)
		fmt.Fprintf(w, `<path d="M%.0f %.1fh24" stroke="%s" stroke-width="2"%s/>`+"\n", left, at-4, colour, dash)
		text(left+32, at, "start", l.name)
	}
	fmt.Fprintln(w, "</svg>")
	return w.Bytes()
}

// niceStep is the next larger of 1, 2 and 5 times a power of ten.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}
