package admin

import (
	"reflect"
	"strings"

	"github.com/flagraft/flagraft/fsm"
)

// fieldChange is one field before and after.
type fieldChange struct {
	Field string `json:"field"`
	Old   any    `json:"old"`
	New   any    `json:"new"`
}

// The kinds of change.
const (
	changeCreate  = "CREATE"
	changeUpdate  = "UPDATE"
	changeDelete  = "DELETE"
	changeUnknown = "UNKNOWN"
)

// auditChange finds the row that an audit row is about in the change log. Audit rows about something else than one row's change, and those
// whose write the change log has forgotten, are UNKNOWN.
func auditChange(r fsm.Reader, a fsm.AuditLog) (kind string, fields []fieldChange) {
	write := fsm.ChangeLog.Ref(r, a.Write)
	if write == nil || a.RelatedObjectID == 0 {
		return changeUnknown, nil
	}
	switch a.RelatedObjectType {
	case fsm.AuditEnvironment:
		return changeOf(write, a.RelatedObjectID, fsm.Environments, func(e fsm.Environment) any { return renderEnvironment(e) })
	case fsm.AuditFeature:
		return changeOf(write, a.RelatedObjectID, fsm.Features, featureFields)
	case fsm.AuditFeatureState:
		return changeOf(write, a.RelatedObjectID, fsm.FeatureStates, stateFields)
	case fsm.AuditSegment:
		return changeOf(write, a.RelatedObjectID, fsm.Segments, segmentFields)
	}
	return changeUnknown, nil
}

// changeOf looks for the row's change; shown makes the struct whose JSON members are compared.
func changeOf[R any](write *fsm.ChangeLogEntry, id uint64, table fsm.Table[R], shown func(R) any) (string, []fieldChange) {
	kind, fields := changeUnknown, []fieldChange(nil)
	for _, change := range write.Changes {
		if change.ID != id {
			continue
		}
		before, was := table.Before(change)
		after, is := table.After(change)
		switch {
		case was && is:
			kind, fields = changeUpdate, compare(shown(before), shown(after))
		case is:
			kind = changeCreate
		case was:
			kind = changeDelete
		}
	}
	return kind, fields
}

// compare lists the members in which two structs of one type differ.
func compare(before, after any) []fieldChange {
	old, now := reflect.ValueOf(before), reflect.ValueOf(after)
	var out []fieldChange
	for i := range old.NumField() {
		a, b := old.Field(i).Interface(), now.Field(i).Interface()
		if !reflect.DeepEqual(a, b) {
			name, _, _ := strings.Cut(old.Type().Field(i).Tag.Get("json"), ",")
			out = append(out, fieldChange{name, a, b})
		}
	}
	return out
}

func featureFields(f fsm.Feature) any {
	return struct {
		Name            string   `json:"name"`
		Type            string   `json:"type"`
		Description     *string  `json:"description"`
		InitialValue    *string  `json:"initial_value"`
		DefaultEnabled  bool     `json:"default_enabled"`
		IsArchived      bool     `json:"is_archived"`
		IsServerKeyOnly bool     `json:"is_server_key_only"`
		Tags            []uint64 `json:"tags"`
		Owners          []uint64 `json:"owners"`
		GroupOwners     []uint64 `json:"group_owners"`
	}{f.Name, string(f.Type), f.Description, f.InitialValue, f.DefaultEnabled, f.IsArchived, f.IsServerKeyOnly, f.Tags, f.Owners, f.GroupOwners}
}

func stateFields(s fsm.FeatureState) any {
	return struct {
		Enabled bool     `json:"enabled"`
		Value   any      `json:"feature_state_value"`
		Live    fsm.Time `json:"live_from"`
	}{s.Enabled, plainValue(s.Value), s.LiveFrom}
}

// plainValue is a value as JSON: text, number, boolean or null.
func plainValue(v fsm.FeatureValue) any {
	switch {
	case v.IsNull():
		return nil
	case v.Type == fsm.Int:
		return *v.Integer
	case v.Type == fsm.Bool:
		return *v.Boolean
	}
	return *v.String
}

func segmentFields(s fsm.Segment) any {
	return struct {
		Name        string  `json:"name"`
		Description *string `json:"description"`
	}{s.Name, s.Description}
}
