package fsm

import "time"

// Time is an instant in microseconds since the Unix epoch, UTC: the resolution
// of every timestamp Flagsmith shows. Zero means "not set".
type Time int64

// TimeOf converts a wall-clock time, dropping what is finer than a microsecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Std returns t as a UTC [time.Time].
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Microseconds()) }

// IsZero reports whether t is not set.
func (t Time) IsZero() bool { return t == 0 }
