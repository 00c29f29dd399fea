package admin

import (
	"regexp"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/destination"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/schedule"
)

// backupSchedule is a schedule as the API shows it. What begins with last_ is of the last backups; times are null until there was one.
type backupSchedule struct {
	ID          uint64   `json:"id"`
	Name        string   `json:"name"`
	When        string   `json:"when"`
	Target      string   `json:"target"`
	Keep        uint32   `json:"keep"`
	Enabled     bool     `json:"enabled"`
	CreatedAt   fsm.Time `json:"created_at"`
	Due         fsm.Time `json:"due"`
	LastRun     fsm.Time `json:"last_run"`
	LastSuccess fsm.Time `json:"last_success"`
	LastError   string   `json:"last_error"`
	LastFile    string   `json:"last_file"`
	LastBytes   uint64   `json:"last_bytes"`
	LastIndex   uint64   `json:"last_index"`
	Failures    uint32   `json:"failures"`
}

type scheduleRef struct {
	ID uint64 `path:"id"`
}

type scheduleInput struct {
	Name    route.Optional[string] `json:"name" v:"required,max=50"`
	When    route.Optional[string] `json:"when" v:"required,max=200"`
	Target  route.Optional[string] `json:"target" v:"required,max=1000"`
	Keep    route.Optional[int64]  `json:"keep" v:"min=0,max=100000"`
	Enabled route.Optional[bool]   `json:"enabled"`
}

type scheduleUpdate struct {
	scheduleRef
	scheduleInput
}

// scheduleKeep is how many backups a schedule keeps that does not say.
const scheduleKeep = 7

// maxSchedules bounds the table.
const maxSchedules = 100

func scheduleRows() []route.Row {
	const list, detail = "/api/flagraft/v1/backups/schedules/", "/api/flagraft/v1/backups/schedules/{id}/"
	row := func(method, path, id, summary string, kind route.Kind, status int, h route.Handler) route.Row {
		return route.Row{Method: method, Path: path, OperationID: "flagraft_v1_backups_schedules_" + id, Tag: "Backups", Summary: summary,
			Auth: route.Superuser, Kind: kind, Status: status, Level: 2, Handler: h}
	}
	return []route.Row{
		row("GET", list, "list", "List backup schedules and what became of them.", route.Read, 200, read(listSchedules)),
		row("POST", list, "create", "Have backups taken regularly.", route.Write, 201, write(createSchedule)),
		row("GET", detail, "retrieve", "Show a backup schedule.", route.Read, 200, read(getSchedule)),
		row("PUT", detail, "update", "Replace a backup schedule.", route.Write, 200, write(updateSchedule)),
		row("PATCH", detail, "partial_update", "Change a backup schedule.", route.Write, 200, write(updateSchedule)),
		row("DELETE", detail, "destroy", "Remove a backup schedule; its files stay.", route.Write, 204, write(deleteSchedule)),
		row("POST", detail+"run/", "run", "Take the next backup of a schedule now.", route.Write, 200, write(runSchedule)),
	}
}

func listSchedules(c *Ctx, _ struct{}) ([]backupSchedule, error) {
	out := []backupSchedule{}
	for s := range fsm.BackupSchedules.All(c) {
		out = append(out, renderSchedule(s))
	}
	return out, nil
}

func createSchedule(c *Ctx, in scheduleInput) (backupSchedule, error) {
	n := 0
	for range fsm.BackupSchedules.Refs(c) {
		n++
	}
	if n >= maxSchedules {
		return backupSchedule{}, route.BadRequest("There are as many backup schedules as there may be.")
	}
	s := fsm.BackupSchedule{Keep: scheduleKeep, Enabled: true, Created: c.Now()}
	if err := in.apply(c, &s); err != nil {
		return backupSchedule{}, err
	}
	return renderSchedule(fsm.BackupSchedules.Put(c.Tx, s)), nil
}

func getSchedule(c *Ctx, in scheduleRef) (backupSchedule, error) {
	s, err := find(c, fsm.BackupSchedules, in.ID)
	return renderSchedule(s), err
}

func updateSchedule(c *Ctx, in scheduleUpdate) (backupSchedule, error) {
	s, err := find(c, fsm.BackupSchedules, in.ID)
	if err != nil {
		return backupSchedule{}, err
	}
	if err := in.apply(c, &s); err != nil {
		return backupSchedule{}, err
	}
	return renderSchedule(fsm.BackupSchedules.Put(c.Tx, s)), nil
}

func deleteSchedule(c *Ctx, in scheduleRef) (route.Empty, error) {
	if _, err := find(c, fsm.BackupSchedules, in.ID); err != nil {
		return c.fail(err)
	}
	fsm.BackupSchedules.Delete(c.Tx, in.ID)
	return c.OK()
}

func runSchedule(c *Ctx, in scheduleRef) (backupSchedule, error) {
	s, err := find(c, fsm.BackupSchedules, in.ID)
	if err != nil {
		return backupSchedule{}, err
	}
	if !s.Enabled {
		return backupSchedule{}, route.BadRequest("The schedule is not enabled.")
	}
	s.Due = c.Wall()
	return renderSchedule(fsm.BackupSchedules.Put(c.Tx, s)), nil
}

var scheduleName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// apply takes over what was sent and finds out when the schedule is due.
func (in scheduleInput) apply(c *Ctx, s *fsm.BackupSchedule) error {
	in.Name.Into(&s.Name)
	in.When.Into(&s.When)
	in.Target.Into(&s.Target)
	in.Enabled.Into(&s.Enabled)
	keep := int64(s.Keep)
	in.Keep.Into(&keep)
	s.Keep = uint32(keep)
	if !scheduleName.MatchString(s.Name) {
		return route.Field("name", "Use lower-case letters, digits and hyphens: the files are named after it.")
	}
	if other, taken := fsm.BackupSchedulesByName.First(c, s.Name); taken && other.ID != s.ID {
		return route.Field("name", "There is a backup schedule of this name.")
	}
	next, err := schedule.Next(s.When, c.Wall().Std())
	if err != nil {
		return route.Field("when", err.Error())
	}
	if in.Target.Set { // one that is there already does not keep a schedule from being disabled
		if err := destination.Check(s.Target); err != nil {
			return route.Field("target", err.Error())
		}
	}
	s.Due = fsm.TimeOf(next.Truncate(time.Second))
	return nil
}

func renderSchedule(s fsm.BackupSchedule) backupSchedule {
	return backupSchedule{ID: s.ID, Name: s.Name, When: s.When, Target: s.Target, Keep: s.Keep, Enabled: s.Enabled, CreatedAt: s.Created,
		Due: s.Due, LastRun: s.LastRun, LastSuccess: s.LastSuccess, LastError: s.LastError, LastFile: s.LastFile, LastBytes: s.LastBytes,
		LastIndex: s.LastIndex, Failures: s.Failures}
}
