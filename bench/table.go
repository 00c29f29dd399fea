package bench

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// table is a table of a report, in either of two forms. The first column is text,
// the others are figures.
type table struct {
	title string
	note  string // below the title
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// text writes columns of equal width.
func (t *table) text(w *bytes.Buffer) {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	fmt.Fprintf(w, "\n%s\n", t.title)
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line.WriteString(c + pad)
				continue
			}
			line.WriteString("  " + pad + c)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func (t *table) markdown(w *bytes.Buffer) {
	fmt.Fprintf(w, "\n## %s\n\n", t.title)
	if t.note != "" {
		fmt.Fprintf(w, "%s\n\n", t.note)
	}
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(t.head)-1))
	for _, row := range t.rows {
		line(row)
	}
}
