package fsm

import (
	"math"
	"slices"
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
		if e.UpdatedAt < oldest {
			environments = append(environments, e.ID)
		}
	}
	for p := range DeletedProjects.Refs(r) {
		if _, shown := AuditLogsByProject.First(r, p.ID); !shown && len(projects) < sweepBatch {
			projects = append(projects, p.ID)
		}
	}
	environments = withoutAudit(r, environments)
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

// withoutAudit is which of these environments no audit row shows, some of them if they are many. Their times alone do not tell: earlier versions
// kept that of the last change, which may be long before the deletion.
func withoutAudit(r Reader, environments []uint64) []uint64 {
	if len(environments) == 0 {
		return nil
	}
	shown := map[uint64]bool{}
	for a := range AuditLogs.Refs(r) {
		shown[a.Environment] = true
	}
	environments = slices.DeleteFunc(environments, func(id uint64) bool { return shown[id] })
	return environments[:min(len(environments), sweepBatch)]
}
