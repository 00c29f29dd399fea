package openapi

import (
	"errors"
	"fmt"
	"strings"
)

// Report is the outcome of a comparison.
type Report struct {
	Operations, Compatible int
	Differences            []Difference // that are not meant
	Unused                 []string     // exceptions that nothing needed
}

func (r Report) String() string {
	return fmt.Sprintf("%d of %d operations are compatible", r.Compatible, r.Operations)
}

// Err is nil when every operation is compatible and every exception is needed.
func (r Report) Err() error {
	switch {
	case r.Operations == 0:
		return errors.New("the recorded description has no operations")
	case len(r.Differences) > 0:
		return fmt.Errorf("%d differences", len(r.Differences))
	case len(r.Unused) > 0:
		return fmt.Errorf("exceptions that nothing needs: %s", strings.Join(r.Unused, "; "))
	}
	return nil
}

// Judge compares two descriptions. meant names differences on purpose, a line each: operation ("*" is any), where, and the reason,
// separated by tabs; lines that begin with # are comments.
func Judge(recorded, served *Document, meant string) (Report, error) {
	type exception struct{ operation, where string }
	reasons := map[exception]bool{} // whether it was needed
	for line := range strings.Lines(meant) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[2] == "" {
			return Report{}, fmt.Errorf("an exception is operation, where, reason: %q", line)
		}
		reasons[exception{f[0], f[1]}] = false
	}
	all, n := Compare(recorded, served)
	r := Report{Operations: n}
	bad := map[string]bool{}
next:
	for _, d := range all {
		for _, e := range []exception{{d.Operation, d.Where}, {"*", d.Where}, {d.Operation, "*"}} {
			if _, ok := reasons[e]; ok {
				reasons[e] = true
				continue next
			}
		}
		r.Differences = append(r.Differences, d)
		bad[d.Operation] = true
	}
	r.Compatible = n - len(bad)
	for e, needed := range reasons {
		if !needed {
			r.Unused = append(r.Unused, e.operation+" "+e.where)
		}
	}
	return r, nil
}
