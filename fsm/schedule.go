package fsm

// BackupSchedule says when the leader takes a backup, where it goes, and what
// became of the last ones. Credentials are never in it: they are settings of the nodes.
type BackupSchedule struct {
	ID      uint64 `cbor:"1,keyasint"`
	Name    string `cbor:"2,keyasint"` // unique; the files begin with it
	When    string `cbor:"3,keyasint"` // "6h", or five cron fields in UTC; see package schedule
	Target  string `cbor:"4,keyasint"` // a directory below the nodes' backup directory, or s3://bucket/prefix?…
	Keep    uint32 `cbor:"5,keyasint"` // newest files that stay; 0: all
	Enabled bool   `cbor:"6,keyasint,omitempty"`
	Created Time   `cbor:"7,keyasint"`
	Due     Time   `cbor:"8,keyasint,omitempty"` // of the next one, retries included

	LastRun     Time   `cbor:"9,keyasint,omitempty"` // when the last one ended, well or not
	LastSuccess Time   `cbor:"10,keyasint,omitempty"`
	LastError   string `cbor:"11,keyasint,omitempty"` // of the last one; empty: it succeeded
	Failures    uint32 `cbor:"12,keyasint,omitempty"` // in a row
	LastFile    string `cbor:"13,keyasint,omitempty"` // of the last success
	LastBytes   uint64 `cbor:"14,keyasint,omitempty"`
	LastIndex   uint64 `cbor:"15,keyasint,omitempty"` // of the log, in that file
}

// BackupSchedules is the table of schedules.
var (
	BackupSchedules       = newTable[BackupSchedule](26, "BackupSchedule", func(s *BackupSchedule) *uint64 { return &s.ID }, nil).since(2)
	BackupSchedulesByName = BackupSchedules.index("name", func(s *BackupSchedule, k Key) (Key, bool) { return k.String(s.Name), true })
	BackupSchedulesByDue  = BackupSchedules.index("due", func(s *BackupSchedule, k Key) (Key, bool) { return k.Uint(uint64(s.Due)), s.Enabled })
)
