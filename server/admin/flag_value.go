package admin

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// flagValue is a value in the flag API: a type and a text.
type flagValue struct {
	Type  string `json:"type" v:"required,choice=integer|string|boolean"`
	Value string `json:"value" v:"required,blank,notrim"`
}

// apply stores the value, or says what is wrong with it.
func (v flagValue) apply(c *Ctx, to *fsm.FeatureValue) string {
	switch v.Type {
	case "integer":
		n, err := strconv.ParseInt(v.Value, 10, 32)
		switch {
		case err == nil:
			to.Type, to.Integer = fsm.Int, &n
		case !errors.Is(err, strconv.ErrRange):
			return "'" + v.Value + "' is not a valid integer"
		case strings.HasPrefix(v.Value, "-"):
			return route.MinValueText(math.MinInt32)
		default:
			return route.MaxValueText(math.MaxInt32)
		}
	case "boolean":
		b := strings.EqualFold(v.Value, "true")
		if !b && !strings.EqualFold(v.Value, "false") {
			return "'" + v.Value + "' is not a valid boolean"
		}
		to.Type, to.Boolean = fsm.Bool, &b
	default:
		if msg := c.valueFault(v.Value); msg != "" {
			return msg
		}
		to.Type, to.String = fsm.Unicode, &v.Value
	}
	return ""
}

// renderFlagValue shows a value; nil when there is none.
func renderFlagValue(v fsm.FeatureValue) *flagValue {
	switch {
	case v.IsNull():
		return nil
	case v.Type == fsm.Int:
		return &flagValue{"integer", strconv.FormatInt(*v.Integer, 10)}
	case v.Type == fsm.Bool:
		return &flagValue{"boolean", strconv.FormatBool(*v.Boolean)}
	}
	return &flagValue{"string", *v.String}
}
