package admin

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// A feature value travels in two forms: raw, as a JSON scalar (environment and identity feature states), and typed, as an object with a
// column per type (every other place). Columns of other types keep what they held (FACTS §9).

// typedValue is the typed form.
type typedValue struct {
	Type         fsm.ValueType `json:"type"`
	StringValue  *string       `json:"string_value"`
	IntegerValue *int64        `json:"integer_value"`
	BooleanValue *bool         `json:"boolean_value"`
}

func renderTyped(v fsm.FeatureValue) typedValue {
	return typedValue{Type: v.Type, StringValue: v.String, IntegerValue: v.Integer, BooleanValue: v.Boolean}
}

// typedInput is the typed form as it is sent. Columns that are left out stay.
type typedInput struct {
	Type         route.Optional[string] `json:"type" v:"null,blank,choice=int|unicode|bool"`
	StringValue  route.Optional[string] `json:"string_value" v:"null,blank"`
	IntegerValue route.Optional[int64]  `json:"integer_value" v:"null,min=-2147483648,max=2147483647"`
	BooleanValue route.Optional[bool]   `json:"boolean_value" v:"null"`
}

// apply stores the columns that were sent; errs gets what is wrong with them.
func (in typedInput) apply(c *Ctx, v *fsm.FeatureValue, errs *route.Errors) {
	if msg := c.valueFault(in.StringValue.Value); msg != "" {
		errs.Add("string_value", msg)
		return
	}
	if in.Type.Set {
		v.Type = fsm.ValueType(in.Type.Value)
	}
	if v.Type == "" {
		v.Type = fsm.Unicode
	}
	in.StringValue.IntoPtr(&v.String)
	in.IntegerValue.IntoPtr(&v.Integer)
	in.BooleanValue.IntoPtr(&v.Boolean)
}

// renderRaw gives the raw form.
func renderRaw(v fsm.FeatureValue) route.Scalar {
	switch {
	case v.IsNull():
		return route.Scalar{}
	case v.Type == fsm.Int:
		return route.IntScalar(*v.Integer)
	case v.Type == fsm.Bool:
		return route.BoolScalar(*v.Boolean)
	}
	return route.StringScalar(*v.String)
}

// applyRaw stores a value sent in the raw form: text is never typed anew ("5" stays text), a float becomes text, null is a text without value.
// The refusal names the column, as the reference does.
func (c *Ctx) applyRaw(in route.Value, v *fsm.FeatureValue) error {
	switch in.Kind {
	case route.Null, route.Missing:
		v.Type, v.String = fsm.Unicode, nil
	case route.Bool:
		b := in.Text == "true"
		v.Type, v.Boolean = fsm.Bool, &b
	case route.Int:
		n, ok := in.Int()
		switch {
		case ok && math.MinInt32 <= n && n <= math.MaxInt32:
			v.Type, v.Integer = fsm.Int, &n
		case strings.HasPrefix(in.Text, "-"):
			return route.Field("integer_value", route.MinValueText(math.MinInt32))
		default:
			return route.Field("integer_value", route.MaxValueText(math.MaxInt32))
		}
	case route.String, route.Float:
		s := strings.TrimSpace(route.PythonStr(in))
		if msg := c.valueFault(s); msg != "" {
			return route.Field("string_value", msg)
		}
		v.Type, v.String = fsm.Unicode, &s
	default:
		return route.Field("string_value", route.MsgString)
	}
	return nil
}

// valueFault says what is wrong with the text of a feature value, or "".
func (c *Ctx) valueFault(s string) string {
	if utf8.RuneCountInString(s) > c.Env.Options.FeatureValueLimit {
		return route.MaxLengthText(c.Env.Options.FeatureValueLimit)
	}
	return route.TextFault(s)
}

// idOrNull is how the API shows a reference that is not set.
func idOrNull(id uint64) *uint64 {
	if id == 0 {
		return nil
	}
	return &id
}

// userOrNull is the id of a user who still exists.
func (c *Ctx) userOrNull(id uint64) *uint64 {
	if fsm.Users.Ref(c, id) == nil {
		return nil
	}
	return &id
}
