package ofrep

import (
	"encoding/json"
	"strconv"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// append renders the evaluation of a flag.
func (c choice) append(dst []byte) []byte {
	dst = route.AppendString(append(dst, `{"key":`...), c.Feature.Name)
	dst = route.AppendString(append(dst, `,"reason":`...), c.reason())
	dst = route.AppendString(append(dst, `,"variant":`...), c.variantName())
	dst = strconv.AppendBool(append(dst, `,"metadata":{"enabled":`...), c.State.Enabled)
	dst = strconv.AppendUint(append(dst, `,"featureId":`...), c.Feature.ID, 10)
	dst = append(dst, '}')
	value := c.Value(c.variant)
	switch {
	case empty(value):
		dst = strconv.AppendBool(append(dst, `,"value":`...), c.State.Enabled)
	case c.State.Enabled:
		dst = appendValue(append(dst, `,"value":`...), value)
	}
	return append(dst, '}')
}

// empty: such a flag is only a switch. The dashboard writes "" for no value.
func empty(v fsm.FeatureValue) bool {
	return v.IsNull() || v.Type != fsm.Int && v.Type != fsm.Bool && *v.String == ""
}

// appendValue writes a value as it is, and text that is a JSON object or list as
// what it says.
func appendValue(dst []byte, v fsm.FeatureValue) []byte {
	if v.Type != fsm.Int && v.Type != fsm.Bool && structured(*v.String) {
		return append(dst, *v.String...)
	}
	return v.AppendJSON(dst)
}

func structured(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			return json.Valid([]byte(s))
		default:
			return false
		}
	}
	return false
}

func (c choice) reason() string {
	switch {
	case !c.State.Enabled:
		return "DISABLED"
	case c.variant != eval.NoVariant:
		return "SPLIT"
	case c.override:
		return "TARGETING_MATCH"
	case c.varies:
		return "DEFAULT"
	}
	return "STATIC"
}

// variantName is never missing: some clients demand one.
func (c choice) variantName() string {
	switch {
	case c.variant >= 0:
		if key := c.Options[c.variant].Key; key != nil && *key != "" {
			return *key
		}
		return "option-" + strconv.Itoa(c.variant+1)
	case c.variant == eval.Control, c.Feature.Type == fsm.Multivariate:
		return eval.ControlKey
	case c.State.Enabled:
		return "enabled"
	}
	return "disabled"
}
