package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/destination"
	"github.com/flagraft/flagraft/server/schedule"
)

const (
	// archivistTick is how often the leader looks for schedules that are due.
	archivistTick = time.Second
	// archiveTimeout bounds one backup with its upload.
	archiveTimeout = 6 * time.Hour
	// maxReason bounds the text of a failure in the state.
	maxReason = 500
)

// archive is the loop that takes scheduled backups, one at a time, on the leader. When they are due is in the state, and so is what became of
// them: a new leader goes on where the old one stopped, and takes one again that was under way.
func (n *Node) archive(ctx context.Context) {
	for pause(ctx, archivistTick) {
		if !n.cluster.IsLeader() || n.stopping.Load() || n.cluster.ReadOnly() {
			continue // read-only: a result could not be recorded, and the backup would be due again at once
		}
		s, ok := dueSchedule(n.fsm.State(), fsm.TimeOf(n.Clock()))
		if !ok {
			continue
		}
		n.archiveOne(ctx, s)
	}
}

// dueSchedule finds the enabled schedule that has been due for longest, or one that a clock which was ahead has put off.
func dueSchedule(r fsm.Reader, now fsm.Time) (fsm.BackupSchedule, bool) {
	for s := range fsm.BackupSchedulesByDue.Refs(r) {
		if s.Due <= now || putOff(s, now) {
			return *s, true
		}
	}
	return fsm.BackupSchedule{}, false
}

// putOff reports whether the next two turns would be left out. One may be: it was taken early when the clock of the leader before was a little ahead.
func putOff(s *fsm.BackupSchedule, now fsm.Time) bool {
	at := now.Std()
	for range 2 {
		next, err := schedule.Next(s.When, at)
		if err != nil {
			return false
		}
		at = next
	}
	return s.Due > fsm.TimeOf(at)
}

// archived is what became of one backup.
type archived struct {
	file  string
	bytes int64
	index uint64
	taken bool // the file is there, also with an error: older ones are not removed then
	err   error
}

// archiveOne takes a backup and records the result, however long that takes while this node leads: what is not recorded is due again, and each
// repetition would have a good older file removed.
func (n *Node) archiveOne(ctx context.Context, s fsm.BackupSchedule) {
	work, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	defer n.whileLeading(work, cancel)()
	start := time.Now()
	result := n.takeArchive(work, s)
	switch {
	case ctx.Err() != nil || !n.cluster.IsLeader():
		return // the next leader takes it
	case result.err != nil:
		n.log.Error("scheduled backup failed", "schedule", s.Name, "failures", s.Failures+1, "error", result.err)
	default:
		n.log.Info("scheduled backup taken", "schedule", s.Name, "file", result.file, "bytes", result.bytes, "index", result.index, "took", time.Since(start))
	}
	for err := n.recordArchive(ctx, s, result); err != nil; err = n.recordArchive(ctx, s, result) {
		n.log.Warn("the result of a scheduled backup is not recorded yet", "schedule", s.Name, "error", err)
		if !pause(ctx, archivistTick) || !n.cluster.IsLeader() {
			return
		}
	}
}

// recordArchive writes what became of a backup that was taken for a schedule, unless that is another one by now: it was removed or goes elsewhere,
// or a backup was restored, whose schedules have numbers of their own.
func (n *Node) recordArchive(ctx context.Context, of fsm.BackupSchedule, r archived) error {
	_, err := n.writer.Write(ctx, fsm.Author{}, func(tx *fsm.Tx) error {
		s, ok := fsm.BackupSchedules.Get(tx, of.ID)
		if !ok || s.Name != of.Name || s.Target != of.Target || s.Created != of.Created {
			return nil
		}
		now := recorded(s, r, n.Clock())
		if s.Due != of.Due {
			now.Due = min(now.Due, s.Due) // it was asked for, or planned anew, while this one was taken
		}
		fsm.BackupSchedules.Put(tx, now)
		return nil
	})
	return err
}

// whileLeading ends the work soon after this node has lost its leadership. The returned function ends the watch.
func (n *Node) whileLeading(ctx context.Context, cancel context.CancelFunc) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n.cluster.IsLeader() && ctx.Err() == nil {
			pause(ctx, archivistTick)
		}
		cancel()
	}()
	return func() { cancel(); <-done }
}

// recorded is the schedule after a result.
func recorded(s fsm.BackupSchedule, r archived, now time.Time) fsm.BackupSchedule {
	next, err := schedule.Next(s.When, now)
	if err != nil {
		s.Enabled = false // cannot happen: it was checked when it was set
		r.err = cmp.Or(r.err, err)
	}
	s.LastRun, s.Due = fsm.TimeOf(now), fsm.TimeOf(next)
	if r.taken {
		s.LastSuccess, s.LastFile, s.LastBytes, s.LastIndex = s.LastRun, r.file, uint64(r.bytes), r.index
	}
	if r.err != nil {
		s.Failures++
		text := r.err.Error()
		if s.LastError = clip(text); len(text) > maxReason {
			s.LastError += "…"
		}
		if !r.taken { // else each attempt would leave one more file where none can be removed
			s.Due = fsm.TimeOf(schedule.Retry(s.Failures, now, next))
		}
		return s
	}
	s.Failures, s.LastError = 0, ""
	return s
}

// takeArchive writes one backup to its target and removes the oldest beyond what is kept.
func (n *Node) takeArchive(ctx context.Context, s fsm.BackupSchedule) (r archived) {
	to, err := destination.Open(s.Target, n.destinations())
	if err != nil {
		return archived{err: err}
	}
	r.file = fmt.Sprintf("%s-%s-%d.backup", s.Name, n.Clock().UTC().Format("20060102T150405Z"), n.fsm.State().Index)
	r.bytes, r.err = to.Put(ctx, r.file, func(w io.Writer) error {
		h, err := n.WriteBackup(w)
		r.index = h.Index
		return err
	})
	if r.err != nil {
		return r
	}
	r.taken = true
	if err := keepNewest(ctx, to, s, r.file); err != nil {
		r.err = fmt.Errorf("%s is taken, but older ones are not removed: %w", r.file, err)
	}
	return r
}

func (n *Node) destinations() destination.Config {
	st := n.settings
	return destination.Config{
		Root:      cmp.Or(st.BackupDir, filepath.Join(st.DataDir, "backups")),
		AccessKey: st.BackupS3AccessKey, SecretKey: st.BackupS3SecretKey,
	}
}

// keepNewest removes the oldest backups of a schedule beyond those it keeps. Files of other names, other schedules' too, are not touched. The one
// just taken stays whatever its name: a clock that was ahead has left names that look newer.
func keepNewest(ctx context.Context, at destination.Destination, s fsm.BackupSchedule, taken string) error {
	if s.Keep == 0 {
		return nil
	}
	own, err := regexp.Compile("^" + regexp.QuoteMeta(s.Name) + `-\d{8}T\d{6}Z-\d+\.backup$`)
	if err != nil {
		return err
	}
	names, err := at.List(ctx, s.Name+"-")
	if err != nil {
		return err
	}
	if len(names) == 0 { // an answer of something else than storage reads as a listing of nothing
		return errors.New("the listing of them is empty, and does not name the one just taken either")
	}
	var others []string // oldest first: the time is in the name
	for _, name := range names {
		if name != taken && own.MatchString(name) {
			others = append(others, name)
		}
	}
	var faults []error
	for _, name := range others[:max(0, len(others)+1-int(s.Keep))] {
		faults = append(faults, at.Remove(ctx, name))
	}
	return errors.Join(faults...)
}

// scheduleStatus is a schedule as /status shows it.
type scheduleStatus struct {
	Name        string    `json:"name"`
	Enabled     bool      `json:"enabled"`
	Due         time.Time `json:"due"`
	LastSuccess time.Time `json:"last_success"`
	Failures    uint32    `json:"failures"`
	LastError   string    `json:"last_error"`
}

func scheduleStatuses(r fsm.Reader) []scheduleStatus {
	out := []scheduleStatus{}
	for s := range fsm.BackupSchedules.All(r) {
		out = append(out, scheduleStatus{s.Name, s.Enabled, s.Due.Std(), s.LastSuccess.Std(), s.Failures, s.LastError})
	}
	return out
}

// scheduleMetrics are what there is to alert on, per schedule.
type scheduleMetrics struct {
	node *Node
}

var scheduleReadings = []struct {
	desc *prometheus.Desc
	read func(*fsm.BackupSchedule) float64
}{
	{desc("flagraft_backup_enabled", "1 when a backup schedule is enabled.", "schedule"), func(s *fsm.BackupSchedule) float64 { return truth(s.Enabled) }},
	{desc("flagraft_backup_due_timestamp_seconds", "When the next backup of a schedule is due.", "schedule"), func(s *fsm.BackupSchedule) float64 { return float64(s.Due) / 1e6 }},
	{desc("flagraft_backup_last_success_timestamp_seconds", "When the last good backup of a schedule was taken; 0: none was.", "schedule"), func(s *fsm.BackupSchedule) float64 { return float64(s.LastSuccess) / 1e6 }},
	{desc("flagraft_backup_last_bytes", "Size of the last good backup of a schedule.", "schedule"), func(s *fsm.BackupSchedule) float64 { return float64(s.LastBytes) }},
	{desc("flagraft_backup_failures", "Backups of a schedule that failed since the last good one.", "schedule"), func(s *fsm.BackupSchedule) float64 { return float64(s.Failures) }},
}

// Describe implements prometheus.Collector.
func (m *scheduleMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, r := range scheduleReadings {
		ch <- r.desc
	}
}

// Collect implements prometheus.Collector.
func (m *scheduleMetrics) Collect(ch chan<- prometheus.Metric) {
	for s := range fsm.BackupSchedules.All(m.node.fsm.State()) {
		for _, r := range scheduleReadings {
			ch <- gaugeOf(r.desc, r.read(&s), valid(s.Name))
		}
	}
}
