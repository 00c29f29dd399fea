package fsm

import "time"

// SharesSecond reports whether a version before this one may have been given the
// second of this one's updated_at as its Last-Modified: one of the same second, or one
// of the second before that shared its own, for which the next is given (server/sdk
// does). The change log knows, on every node alike and after a restart.
func (v *View) SharesSecond() bool {
	v.secondOnce.Do(func() { v.shared = v.sharesSecond() })
	return v.shared
}

const (
	// aheadOfLog bounds how far updated_at may be ahead of the time of its write: each
	// further touch in one write moves it on by a microsecond.
	aheadOfLog = time.Second
	// longestRun bounds how many versions, one a second, are followed back to the first.
	longestRun = 60
)

func (v *View) sharesSecond() bool {
	updated := v.Environment.UpdatedAt
	for range longestRun {
		before, ok := versionBefore(v.State, v.Environment.ID, updated)
		if !ok {
			return false
		}
		switch updated.Std().Unix() - before.Std().Unix() {
		case 0:
			return true
		case 1:
			updated = before
		default:
			return false
		}
	}
	return true // for all that is known
}

// versionBefore is the updated_at that an environment had before it was given this one.
func versionBefore(r Reader, environment uint64, updated Time) (Time, bool) {
	for entry := range changesSince(r, updated.Add(-aheadOfLog)) {
		if entry.Time > updated.Add(time.Second) {
			break
		}
		for _, c := range entry.Changes {
			after, ok := Environments.After(c)
			if !ok || after.ID != environment || after.UpdatedAt != updated {
				continue
			}
			before, ok := Environments.Before(c)
			return before.UpdatedAt, ok
		}
	}
	return 0, false
}
