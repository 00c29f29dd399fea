package eval

import "slices"

// What Outcome.Variant and SelectVariant say besides the index of a variant.
const (
	NoVariant = -1 // the context has no variants, or there is no identity
	Control   = -2 // variants exist, none was hit: the context's own value
)

// ControlKey is what a result calls the control variant.
const ControlKey = "control"

// split is the compiled multivariate choice of one feature context.
type split struct {
	key     string // hashed with the identity key
	ranges  []splitRange
	always  int32 // what is chosen, if settled
	settled bool  // whatever the hash
}

// splitRange is the share [start, limit) of a variant, in percent.
type splitRange struct {
	start, limit float64
	variant      int32 // index in FeatureContext.Variants
}

// newSplit is nil for a context without variants.
func newSplit(f *FeatureContext) *split {
	if len(f.Variants) == 0 {
		return nil
	}
	s := &split{key: f.Key, ranges: make([]splitRange, len(f.Variants))}
	fillRanges(s.ranges, f)
	s.settle()
	return s
}

// fillRanges lays the variants of f out in order of priority.
func fillRanges(ranges []splitRange, f *FeatureContext) {
	for i := range ranges {
		ranges[i].variant = int32(i)
	}
	slices.SortStableFunc(ranges, func(a, b splitRange) int {
		return compareNumbers(f.Variants[a.variant].Priority, f.Variants[b.variant].Priority)
	})
	start := 0.0
	for i := range ranges {
		weight, _ := f.Variants[ranges[i].variant].Weight.AsFloat()
		ranges[i].start, ranges[i].limit = start, start+weight
		start = ranges[i].limit
	}
}

// choose is the variant that holds the percentage, or Control.
func (s *split) choose(percentage float64) int32 {
	for i := range s.ranges {
		if s.ranges[i].start <= percentage && percentage < s.ranges[i].limit {
			return s.ranges[i].variant
		}
	}
	return Control
}

// settle finds out whether all percentages choose the same: no variant has a share, or
// one has all of it. What is chosen changes only where a share starts or ends.
func (s *split) settle() {
	s.always = s.choose(0)
	for i := range s.ranges {
		for _, edge := range [...]float64{s.ranges[i].start, s.ranges[i].limit} {
			if 0 < edge && edge < 100 && s.choose(edge) != s.always {
				return
			}
		}
	}
	s.settled = true
}

// SelectVariant chooses the variant of one feature context for an identity's
// hashing key: an index into f.Variants, Control or NoVariant. It serves
// contexts outside an Environment, such as identity overrides; f need not be
// compiled.
func SelectVariant(f *FeatureContext, identityKey string) int {
	if len(f.Variants) == 0 || identityKey == "" {
		return NoVariant
	}
	var few [16]splitRange
	s := split{ranges: few[:]}
	if len(f.Variants) > len(few) {
		s.ranges = make([]splitRange, len(f.Variants))
	}
	s.ranges = s.ranges[:len(f.Variants)]
	fillRanges(s.ranges, f)
	return int(s.choose(Percentage(f.Key, identityKey)))
}

// VariantName is how a result names a variant choice of f: the variant's key,
// "control", or false for none or an unkeyed one.
func VariantName(f *FeatureContext, variant int) (string, bool) {
	switch {
	case variant == Control:
		return ControlKey, true
	case variant < 0:
		return "", false
	}
	key := f.Variants[variant].Key
	return key, key != ""
}

// ValueOf is the value f serves under a variant choice.
func ValueOf(f *FeatureContext, variant int) Value {
	if variant < 0 {
		return f.Value
	}
	return f.Variants[variant].Value
}

// AppendReason appends the reason of a result. segment is the name of the
// segment whose override won, nil for the environment default.
func AppendReason(dst []byte, f *FeatureContext, variant int, segment *string) []byte {
	switch {
	case variant >= 0:
		dst = append(dst, "SPLIT; weight="...)
		return f.Variants[variant].Weight.AppendText(dst)
	case segment != nil:
		dst = append(dst, "TARGETING_MATCH; segment="...)
		return append(dst, *segment...)
	}
	return append(dst, defaultReason()...)
}

// defaultReason is the reason of a feature nothing overrode. Later engines
// tell DEFAULT and STATIC apart; the choice lives here.
func defaultReason() string { return "DEFAULT" }
