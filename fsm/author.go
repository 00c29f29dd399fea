package fsm

// Author is who made a write. At most one of User and MasterAPIKey is set; none
// means the system itself (Scheduler, bootstrap).
type Author struct {
	User         uint64 `cbor:"1,keyasint,omitempty"`
	MasterAPIKey uint64 `cbor:"2,keyasint,omitempty"`
	Name         string `cbor:"3,keyasint,omitempty"` // e-mail or key name at the time of the write
}
