// Package schedule tells when something that repeats is due.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Shortest is the least time between two runs.
const Shortest = time.Minute

// maxForm bounds a schedule, in bytes.
const maxForm = 200

// errForm says what a schedule looks like.
var errForm = errors.New(`not a schedule: write a duration ("6h", "30m", at least a minute) or five cron fields in UTC ("0 3 * * *")`)

// Next returns the first instant after t at which something is due. when is a
// duration or five cron fields, read in UTC.
func Next(when string, t time.Time) (time.Time, error) {
	when = strings.TrimSpace(when)
	if every, err := time.ParseDuration(when); err == nil {
		if every < Shortest {
			return time.Time{}, fmt.Errorf("%q is too often: %w", when, errForm)
		}
		return t.Add(every), nil
	}
	if len(when) > maxForm || len(strings.Fields(when)) != 5 { // the parser takes more
		return time.Time{}, fmt.Errorf("%q is %w", when, errForm)
	}
	fields, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(when)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is %w: %w", when, errForm, err)
	}
	next := fields.Next(t.UTC())
	if next.IsZero() {
		return time.Time{}, fmt.Errorf("%q is never due", when)
	}
	return next, nil
}

// Retry returns when something is tried again that has failed n times in a row: a
// minute later, then twice as long each time up to an hour, but not after next.
func Retry(n uint32, now, next time.Time) time.Time {
	wait := time.Minute << min(max(n, 1)-1, 6)
	at := now.Add(min(wait, time.Hour))
	if at.After(next) {
		return next
	}
	return at
}
