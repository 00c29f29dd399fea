package fsm

import (
	"math"
	"time"
)

// deletedEvery is how often deleted projects and environments are looked for that no audit row shows any more.
const deletedEvery = 10 * time.Minute

// deletedNames removes what was kept of deleted projects and environments for audit rows, once these are gone.
func (s *Scheduler) deletedNames(r Reader, now Time) func(*Tx) {
	if waits(s.deletedDue, now, deletedEvery) {
		return nil
	}
	oldest := Time(math.MaxInt64)
	for a := range AuditLogs.Refs(r) { // ids grow with time
		oldest = a.CreatedDate
		break
	}
	var environments, projects []uint64
	for e := range DeletedEnvironments.Refs(r) {
		if e.UpdatedAt < oldest && len(environments) < sweepBatch {
			environments = append(environments, e.ID)
		}
	}
	for p := range DeletedProjects.Refs(r) {
		if _, shown := AuditLogsByProject.First(r, p.ID); !shown && len(projects) < sweepBatch {
			projects = append(projects, p.ID)
		}
	}
	if len(environments)+len(projects) == 0 {
		s.deletedDue = now.Add(deletedEvery)
		return nil
	}
	return func(tx *Tx) {
		for _, id := range environments {
			DeletedEnvironments.Delete(tx, id)
		}
		for _, id := range projects {
			DeletedProjects.Delete(tx, id)
		}
	}
}
