package fsm

import "time"

// SharesSecond reports whether the version before this one was of the same
// second of updated_at: then Last-Modified cannot tell them apart. The change log
// knows, on every node alike and after a restart.
func (v *View) SharesSecond() bool {
	v.secondOnce.Do(func() { v.shared = v.sharesSecond() })
	return v.shared
}

// aheadOfLog bounds how far updated_at may be ahead of the time of its write: each
// further touch in one write moves it on by a microsecond.
const aheadOfLog = time.Second

func (v *View) sharesSecond() bool {
	updated := v.Environment.UpdatedAt
	for entry := range changesSince(v.State, updated.Add(-aheadOfLog)) {
		if entry.Time > updated.Add(time.Second) {
			break
		}
		for _, c := range entry.Changes {
			after, ok := Environments.After(c)
			if !ok || after.ID != v.Environment.ID || after.UpdatedAt != updated {
				continue
			}
			before, ok := Environments.Before(c)
			return ok && before.UpdatedAt.Std().Unix() == updated.Std().Unix()
		}
	}
	return false
}
