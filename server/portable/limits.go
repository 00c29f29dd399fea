package portable

import (
	"fmt"
	"unicode/utf8"
)

// Limits are the settings that bound what the admin API makes; an import keeps to them, too. 0: no limit.
type Limits struct {
	Features, Segments int // of a project
	SegmentOverrides   int // of an environment
	ValueLength        int // characters of a value
	Conditions         int // of a segment
}

// within refuses a project that is more than an installation takes.
func (p *Project) within(l Limits) error {
	c := &counter{where: fmt.Sprintf("project %q", p.Name)}
	c.most(len(p.Features), l.Features, "features")
	c.most(len(p.Segments), l.Segments, "segments")
	for _, g := range p.Segments {
		c.most(conditions(g.Rules), l.Conditions, fmt.Sprintf("conditions in segment %q", g.Name))
	}
	for _, f := range p.Features {
		for _, o := range f.Options {
			c.value(f.Name, o.Value, l)
		}
	}
	for _, e := range p.Environments {
		c.most(len(e.SegmentOverrides), l.SegmentOverrides, fmt.Sprintf("segment overrides in environment %q", e.Name))
		for _, v := range e.Versions {
			c.most(len(v.SegmentOverrides), l.SegmentOverrides, fmt.Sprintf("segment overrides in a version of feature %q", v.Feature))
		}
		for s := range e.states() {
			c.value(s.Feature, s.Value, l)
		}
	}
	return c.err
}

// counter keeps the first excess.
type counter struct {
	where string
	err   error
}

func (c *counter) most(have, limit int, of string) {
	if limit > 0 && have > limit && c.err == nil {
		c.err = &Invalid{c.where, fmt.Sprintf("it has %d %s, which exceeds the maximum of %d", have, of, limit)}
	}
}

func (c *counter) value(feature string, v Value, l Limits) {
	if v.String != nil {
		c.most(utf8.RuneCountInString(*v.String), l.ValueLength, fmt.Sprintf("characters in a value of feature %q", feature))
	}
}

func conditions(rules []Rule) int {
	n := 0
	for _, r := range rules {
		n += len(r.Conditions) + conditions(r.Rules)
	}
	return n
}
