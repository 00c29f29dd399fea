package fsm

import "time"

// SharesSecond reports whether the version before this one was of the same
// second of updated_at: then Last-Modified cannot tell them apart. The change log
// knows, on every node alike and after a restart.
func (v *View) SharesSecond() bool {
	v.secondOnce.Do(func() { v.shared = v.sharesSecond() })
	return v.shared
}

func (v *View) sharesSecond() bool {
	updated := v.Environment.UpdatedAt
	// A write's entry has the time of its changeset, at or just after updated_at. Several audit rows of one write move updated_at past
	// it: such a write is not found, and whoever polls by date right after it gets the 304 that clients expect then.
	for entry := range changesSince(v.State, updated) {
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
