package fsm

import "time"

// limitsEvery is how often the API calls of organisations with a limit are
// counted: nodes report theirs every ten seconds anyway.
const limitsEvery = 30 * time.Second

// apiCallLimits stops and resumes organisations whose API calls reached their
// limit, or no longer do in a new month.
func (s *Scheduler) apiCallLimits(r Reader, now Time) func(*Tx) {
	if waits(s.limitsDue, now, limitsEvery) {
		return nil
	}
	var changed []Organisation
	for o := range Organisations.All(r) {
		if over := o.OverAPICalls(r, now); over != o.APICallsExceeded {
			o.APICallsExceeded = over
			changed = append(changed, o)
		}
	}
	if len(changed) == 0 {
		s.limitsDue = now.Add(limitsEvery)
		return nil
	}
	return func(tx *Tx) {
		for _, o := range changed {
			tx.touchResumed(o)
			Organisations.Put(tx, o)
			if tx.bytes > maxTurnBytes { // a new month resumes all of them, with all their environments: more than one entry may hold
				return
			}
		}
	}
}

// touchResumed moves updated_at of an organisation's environments when SDKs are answered again as of after, which is not stored yet: whoever
// was refused when he fetched a change would hear of it with the next change only.
func (tx *Tx) touchResumed(after Organisation) {
	if before := Organisations.Ref(tx, after.ID); before == nil || before.Serves() || !after.Serves() {
		return
	}
	for _, p := range ProjectsByOrganisation.List(tx, after.ID) {
		tx.TouchProject(p.ID)
	}
}
