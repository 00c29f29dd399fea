package fsm

import (
	"strconv"
	"sync/atomic"
)

// Format is the shape of flags in SDK answers.
type Format uint8

// The two shapes: the whole one of Flagsmith's core API, and the slim one of
// its edge API.
const (
	FormatCore Format = 0
	FormatEdge Format = 1

	formats = 2
)

// fragments are the rendered identity-answer items of one state: of its own
// value, then of each variant. Each is rendered on first use.
type fragments []atomic.Pointer[[]byte]

// prepare makes room for the fragments; it is called once, before publication.
func (s *ServedState) prepare() {
	for f := range s.fragments {
		s.fragments[f] = make(fragments, 1+len(s.Options))
	}
}

// Fragment returns the item of an identity answer for this state under a variant
// choice of package eval, rendered at most a few times in the state's life.
func (s *ServedState) Fragment(format Format, variant int) []byte {
	slot := &s.fragments[format][max(variant, -1)+1]
	if b := slot.Load(); b != nil {
		return *b
	}
	b := s.AppendIdentityFlag(make([]byte, 0, 384), format, variant)
	slot.Store(&b)
	return b
}

// AppendFlag appends the item of GET /flags/: the state's own value, no variant.
func (s *ServedState) AppendFlag(dst []byte, format Format) []byte {
	return append(s.appendMembers(dst, format, -1), '}')
}

// AppendIdentityFlag appends the item of an identity answer: [ServedState.AppendFlag]
// with the value of the variant, and its name.
func (s *ServedState) AppendIdentityFlag(dst []byte, format Format, variant int) []byte {
	dst = append(s.appendMembers(dst, format, variant), `,"variant":`...)
	switch {
	case s.Feature.Type != Multivariate:
		dst = append(dst, "null"...)
	case variant < 0:
		dst = append(dst, `"control"`...)
	default:
		dst = appendOptional(dst, s.Options[variant].Key)
	}
	return append(dst, '}')
}

func (s *ServedState) appendMembers(dst []byte, format Format, variant int) []byte {
	if format == FormatEdge {
		dst = append(dst, `{"feature":`...)
		dst = appendFeatureBrief(dst, s.Feature)
		dst = append(dst, `,"enabled":`...)
		dst = strconv.AppendBool(dst, s.State.Enabled)
		dst = append(dst, `,"feature_state_value":`...)
		return s.Value(variant).AppendJSON(dst)
	}
	dst = append(dst, `{"id":`...)
	dst = s.appendID(dst, s.State.ID)
	dst = append(dst, `,"feature":`...)
	dst = s.appendFeature(dst)
	dst = append(dst, `,"feature_state_value":`...)
	dst = s.Value(variant).AppendJSON(dst)
	dst = append(dst, `,"environment":`...)
	dst = s.appendID(dst, s.State.Environment)
	dst = append(dst, `,"identity":`...)
	dst = s.appendID(dst, s.State.Identity)
	dst = append(dst, `,"feature_segment":`...)
	dst = s.appendID(dst, s.State.FeatureSegment)
	dst = append(dst, `,"enabled":`...)
	return strconv.AppendBool(dst, s.State.Enabled)
}

// appendID appends an id, null for none or when ids are hidden.
func (s *ServedState) appendID(dst []byte, id uint64) []byte {
	if id == 0 || s.hidden {
		return append(dst, "null"...)
	}
	return strconv.AppendUint(dst, id, 10)
}

func (s *ServedState) appendFeature(dst []byte) []byte {
	f := s.Feature
	dst = strconv.AppendUint(append(dst, `{"id":`...), f.ID, 10)
	dst = appendString(append(dst, `,"name":`...), f.Name)
	if s.hidden {
		dst = append(dst, `,"created_date":null,"description":null,"initial_value":null,"default_enabled":null`...)
	} else {
		dst = appendTime(append(dst, `,"created_date":`...), f.CreatedDate, "Z")
		dst = appendOptional(append(dst, `,"description":`...), f.Description)
		dst = appendOptional(append(dst, `,"initial_value":`...), f.InitialValue)
		dst = strconv.AppendBool(append(dst, `,"default_enabled":`...), f.DefaultEnabled)
	}
	dst = appendString(append(dst, `,"type":`...), string(f.Type))
	return append(dst, '}')
}

func appendFeatureBrief(dst []byte, f *Feature) []byte {
	dst = strconv.AppendUint(append(dst, `{"id":`...), f.ID, 10)
	dst = appendString(append(dst, `,"name":`...), f.Name)
	dst = appendString(append(dst, `,"type":`...), string(f.Type))
	return append(dst, '}')
}

// AppendVariant is [ServedState.AppendFlag] with the value of a variant.
func (s *ServedState) AppendVariant(dst []byte, format Format, variant int) []byte {
	return append(s.appendMembers(dst, format, variant), '}')
}
