package fsm

import (
	"strconv"
	"time"

	"github.com/flagraft/flagraft/fsm/identity"
)

// JSON as Flagsmith writes it: compact, everything outside printable ASCII
// escaped, floats as Python's repr.

// httpDate is the layout of Last-Modified; times are in UTC.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

func appendString(dst []byte, s string) []byte { return identity.AppendString(dst, s) }

func appendOptional(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return appendString(dst, *s)
}

// AppendJSON appends the value as readers see it.
func (v FeatureValue) AppendJSON(dst []byte) []byte {
	switch {
	case v.IsNull():
		return append(dst, "null"...)
	case v.Type == Int:
		return strconv.AppendInt(dst, *v.Integer, 10)
	case v.Type == Bool:
		return strconv.AppendBool(dst, *v.Boolean)
	default:
		return appendString(dst, *v.String)
	}
}

// appendTime appends a quoted time in UTC; zone is "Z" or "+00:00". Like
// Python's isoformat it leaves the fraction out when it is zero.
func appendTime(dst []byte, t Time, zone string) []byte {
	layout := "2006-01-02T15:04:05.000000"
	if t%1_000_000 == 0 {
		layout = "2006-01-02T15:04:05"
	}
	dst = t.Std().AppendFormat(append(dst, '"'), layout)
	return append(append(dst, zone...), '"')
}

// appendSeconds appends a time as Unix seconds with a fraction.
func appendSeconds(dst []byte, t Time) []byte {
	return identity.AppendFloat(dst, float64(t)/float64(time.Second/time.Microsecond))
}
