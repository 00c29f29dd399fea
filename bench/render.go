package bench

import (
	"bytes"
	"fmt"
	"io"
)

// Text writes the report for a terminal.
func (r *Report) Text(out io.Writer) error {
	w := &bytes.Buffer{}
	fmt.Fprintf(w, "\n%s: %s, flagraft %s, %s, %d cores %s, load %.1f to %.1f\n%s\n", r.heading(), r.Date.Format("2006-01-02 15:04 MST"), r.Version, r.Go, r.Cores, r.Processor,
		r.LoadBefore, r.LoadAfter, r.Profile)
	for _, t := range r.tables() {
		t.text(w)
	}
	r.fairness(w, "")
	if r.Acknowledged > 0 {
		fmt.Fprintf(w, "\nAll three nodes hold the %s new identities that were acknowledged.\n", count(float64(r.Acknowledged)))
	}
	if r.Quick {
		fmt.Fprintln(w, "\nThe quick form: runs are too short to settle anything.")
	}
	_, err := w.WriteTo(out)
	return err
}

// Markdown writes the report as a page of the documentation.
func (r *Report) Markdown(out io.Writer) error {
	w := &bytes.Buffer{}
	fmt.Fprintf(w, `# %s

Written by %s; do not edit. How it is measured: [bench](../bench/doc.go).

- Date: %s
- Version: %s (%s)
- Machine: %d cores, %s; servers and generator share it, through loopback
- Load average: %.1f before, %.1f after
- Data: %s; new identities have %d traits
- Each figure: median of %d runs of %g s, sides and loads in turn, where no other number of runs is told
`, r.heading(), "`"+r.Command+"`", r.Date.Format("2006-01-02 15:04 MST"), r.Version, r.Go, r.Cores, r.Processor, r.LoadBefore, r.LoadAfter, r.Profile, r.Profile.NewTraits, r.Runs, r.Seconds)
	if r.Quick {
		fmt.Fprintln(w, "- **The quick form: runs are too short to settle anything**")
	}
	for _, t := range r.tables() {
		t.markdown(w)
	}
	r.fairness(w, "## ")
	if r.Acknowledged > 0 {
		fmt.Fprintf(w, "\nAfter the writes all three nodes held the %s new identities that were acknowledged, and no other.\n", count(float64(r.Acknowledged)))
	}
	_, err := w.WriteTo(out)
	return err
}
