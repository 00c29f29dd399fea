package fsm

import (
	"errors"
	"maps"
	"time"
)

// putOffFor is how long a row that could not become live is left alone. Until
// then somebody may have taken it back, or what it replaces may have shrunk.
const putOffFor = time.Hour

// goLive returns the job that makes the rows of an index live when they fall
// due, earliest first. A turn takes as many as a log entry should hold, at
// least one; rows that were put off are left out.
func goLive[R any](s *Scheduler, rows Index[R], due func(*R) (from Time, id uint64), live func(*Tx, R)) scheduled {
	return func(r Reader, now Time) func(*Tx) {
		var list []R
		var keys []rowKey
		for row := range rows.Refs(r) {
			from, id := due(row)
			if from > now || len(list) == s.most {
				break
			}
			if key := (rowKey{rows.table.def.number, id}); !waits(s.putOff[key], now, putOffFor) {
				list, keys = append(list, *row), append(keys, key)
			}
		}
		if len(list) == 0 {
			return nil
		}
		return func(tx *Tx) {
			s.tried = nil
			for i, row := range list {
				s.tried = append(s.tried, keys[i])
				tx.parts = len(s.tried)
				live(tx, row)
				if tx.bytes > maxTurnBytes {
					return
				}
			}
		}
	}
}

// passOver reports whether turns may go on after a write that failed for what
// was in it: next with half of the rows, and without a row that fails alone. It
// is put off, so that those behind it do not wait for it.
func (s *Scheduler) passOver(err error, now Time) bool {
	if len(s.tried) == 0 || !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrPanicked) {
		return false
	}
	if s.most = len(s.tried) / 2; s.most > 0 {
		return true
	}
	s.most = 1
	if s.putOff == nil {
		s.putOff = map[rowKey]Time{}
	}
	maps.DeleteFunc(s.putOff, func(_ rowKey, until Time) bool { return !waits(until, now, putOffFor) })
	key := s.tried[0]
	s.putOff[key] = now.Add(putOffFor)
	s.log.Error("what was scheduled cannot become live; those behind it go on", "table", registry.byNumber[key.table].name, "id", key.id, "error", err,
		"next_try", s.putOff[key].Std())
	return true
}

func scheduledState(fs *FeatureState) (Time, uint64) { return fs.LiveFrom, fs.ID }

// stateLive gives Views a state whose time has passed LiveFrom, and moves
// updated_at on.
func stateLive(tx *Tx, fs FeatureState) {
	fs.UpdatedAt = tx.Now()
	FeatureStates.Put(tx, fs)
	e, _ := Environments.Get(tx, fs.Environment)
	tx.Audit(AuditLog{
		Log: SwitchedText(tx, fs), Project: e.Project, Environment: fs.Environment,
		RelatedObjectType: AuditFeatureState, RelatedObjectID: fs.ID, IsSystemEvent: true,
	})
}

func scheduledVersion(v *FeatureVersion) (Time, uint64) { return v.LiveFrom, v.ID }

func versionLive(tx *Tx, v FeatureVersion) { tx.PublishVersion(v) }
