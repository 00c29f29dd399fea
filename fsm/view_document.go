package fsm

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm/identity"
)

// appendDocument renders the whole environment document, and tells which parts
// of it are the identity overrides of its pages.
func (v *View) appendDocument(dst []byte) ([]byte, []piece) {
	dst = v.appendDocumentHead(dst)
	var pieces []piece
	if v.Environment.UseIdentityOverridesInLocal {
		dst, pieces = v.appendIdentityOverrides(dst)
	}
	return v.appendDocumentTail(dst), pieces
}

// appendDocumentHead renders what stands before the identity overrides, members
// in Flagsmith's order.
func (v *View) appendDocumentHead(dst []byte) []byte {
	e := v.Environment
	dst = appendUint(dst, `{"id":`, e.ID)
	dst = appendText(dst, `,"api_key":`, e.APIKey)
	dst = v.appendProject(append(dst, `,"project":`...))
	dst = append(dst, `,"feature_states":[`...)
	for i := range v.Features {
		dst = v.Features[i].Default.appendDocument(comma(dst))
	}
	return append(dst, `],"identity_overrides":[`...)
}

// appendDocumentTail renders what stands after the identity overrides. The
// configurations of integrations are always null, flagraft has none.
func (v *View) appendDocumentTail(dst []byte) []byte {
	e := v.Environment
	dst = appendText(dst, `],"name":`, e.Name)
	dst = appendBool(dst, `,"allow_client_traits":`, e.AllowClientTraits)
	dst = appendTime(append(dst, `,"updated_at":`...), e.UpdatedAt, "+00:00")
	dst = appendBool(dst, `,"hide_sensitive_data":`, e.HideSensitiveData)
	dst = append(dst, `,"hide_disabled_flags":`...)
	if e.HideDisabledFlags == nil {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendBool(dst, *e.HideDisabledFlags)
	}
	dst = appendBool(dst, `,"use_identity_composite_key_for_hashing":`, e.UseCompositeKeyForHashing)
	dst = appendBool(dst, `,"use_identity_overrides_in_local_eval":`, e.UseIdentityOverridesInLocal)
	return append(dst, `,"amplitude_config":null,"dynatrace_config":null,"heap_config":null,"mixpanel_config":null,`+
		`"rudderstack_config":null,"segment_config":null,"webhook_config":null}`...)
}

func (v *View) appendProject(dst []byte) []byte {
	p, o := v.Project, v.Organisation
	dst = appendUint(dst, `{"id":`, p.ID)
	dst = appendText(dst, `,"name":`, p.Name)
	dst = appendUint(dst, `,"organisation":{"id":`, o.ID)
	dst = appendText(dst, `,"name":`, o.Name)
	dst = appendBool(dst, `,"feature_analytics":`, o.FeatureAnalytics)
	dst = appendBool(dst, `,"stop_serving_flags":`, !o.Serves())
	dst = appendBool(dst, `,"persist_trait_data":`, o.PersistTraitData)
	dst = appendBool(dst, `},"hide_disabled_flags":`, p.HideDisabledFlags)
	dst = append(dst, `,"segments":[`...)
	for row := range SegmentsByProject.Refs(v.State, p.ID) {
		if v.Engine == nil {
			break // the head of a later page
		}
		g := v.overrides.segments[row.ID]
		if g == nil {
			if row.Feature != 0 {
				continue // of one feature, without an override here
			}
			g = &servedSegment{row: row}
		}
		dst = g.appendDocument(comma(dst))
	}
	dst = appendBool(dst, `],"enable_realtime_updates":`, p.EnableRealtimeUpdates)
	dst = append(dst, `,"server_key_only_feature_ids":[`...)
	for f := range FeaturesByProject.Refs(v.State, p.ID) {
		if f.IsServerKeyOnly {
			dst = strconv.AppendUint(comma(dst), f.ID, 10)
		}
	}
	return append(dst, "]}"...)
}

func (g *servedSegment) appendDocument(dst []byte) []byte {
	dst = appendUint(dst, `{"id":`, g.row.ID)
	dst = appendText(dst, `,"name":`, g.row.Name)
	dst = appendRules(append(dst, `,"rules":`...), g.row.Rules)
	dst = append(dst, `,"feature_states":[`...)
	for _, s := range g.byPriority() {
		dst = s.appendDocument(comma(dst))
	}
	return append(dst, "]}"...)
}

func appendRules(dst []byte, rules []SegmentRule) []byte {
	dst = append(dst, '[')
	for i := range rules {
		dst = appendText(comma(dst), `{"type":`, rules[i].Type)
		dst = appendRules(append(dst, `,"rules":`...), rules[i].Rules)
		dst = append(dst, `,"conditions":[`...)
		for _, c := range rules[i].Conditions {
			dst = appendText(comma(dst), `{"operator":`, c.Operator)
			dst = appendOptional(append(dst, `,"value":`...), c.Value)
			dst = appendOptional(append(dst, `,"property_":`...), c.Property)
			dst = append(dst, '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

// appendIdentityOverrides appends the identities with overrides, by ascending id,
// and tells where pages end.
func (v *View) appendIdentityOverrides(dst []byte) ([]byte, []piece) {
	cut := cutter{piece: piece{start: len(dst)}}
	var ids []uint64
	for row := range FeatureStatesByEnvironment.Refs(v.State, v.Environment.ID, StateIdentity) {
		if v.InForce(row, v.State.Time) {
			ids = append(ids, row.Identity)
		}
	}
	slices.Sort(ids)
	store := v.State.Identities().Environment(v.Environment.ID)
	for _, id := range slices.Compact(ids) {
		record, ok := store.ByID(id)
		if !ok {
			continue // deleted since: a later View drops its overrides
		}
		identifier, start := string(record.Identifier()), len(dst)
		dst = appendText(comma(dst), `{"identifier":`, identifier)
		dst = appendText(dst, `,"environment_api_key":`, v.Environment.APIKey)
		dst = appendTime(append(dst, `,"created_date":`...), Time(record.Created()), "+00:00")
		dst = append(dst, `,"identity_features":[`...)
		for _, row := range v.IdentityOverrides(id) {
			if s := v.ServeOverride(row); s != nil {
				dst = s.appendDocument(comma(dst))
			}
		}
		dst = appendText(dst, `],"identity_traits":[],"identity_uuid":`, uuid.UUID(record.UUID()).String())
		dst = appendUint(dst, `,"django_id":`, id)
		dst = append(dst, `,"dashboard_alias":`...)
		if alias := record.Alias(); len(alias) > 0 {
			dst = appendString(dst, string(alias))
		} else {
			dst = append(dst, "null"...)
		}
		dst = appendText(dst, `,"composite_key":`, v.Environment.APIKey+"_"+identifier)
		dst = append(dst, '}')
		cut.added(start, len(dst))
	}
	return dst, cut.pieces
}

func (s *ServedState) appendDocument(dst []byte) []byte {
	dst = appendFeatureBrief(append(dst, `{"feature":`...), s.Feature)
	dst = appendBool(dst, `,"enabled":`, s.State.Enabled)
	dst = appendUint(dst, `,"django_id":`, s.State.HashSeed())
	dst = append(dst, `,"feature_segment":`...)
	if s.Segment != nil {
		dst = strconv.AppendInt(append(dst, `{"priority":`...), s.Segment.Priority, 10)
		dst = append(dst, '}')
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendText(dst, `,"featurestate_uuid":`, s.State.UUID.String())
	dst = s.State.Value.AppendJSON(append(dst, `,"feature_state_value":`...))
	dst = append(dst, `,"multivariate_feature_state_values":[`...)
	for i, value := range s.Values {
		dst = append(comma(dst), `{"multivariate_feature_option":{"value":`...)
		dst = s.Options[i].Value.AppendJSON(dst)
		dst = appendUint(dst, `,"id":`, value.Option)
		dst = appendOptional(append(dst, `,"key":`...), s.Options[i].Key)
		dst = identity.AppendFloat(append(dst, `},"percentage_allocation":`...), value.Percentage)
		dst = appendUint(dst, `,"id":`, value.ID)
		dst = appendText(dst, `,"mv_fs_value_uuid":`, value.UUID.String())
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// comma appends one unless dst ends where a list begins.
func comma(dst []byte) []byte {
	if dst[len(dst)-1] == '[' {
		return dst
	}
	return append(dst, ',')
}

func appendText(dst []byte, member, s string) []byte { return appendString(append(dst, member...), s) }

func appendUint(dst []byte, member string, n uint64) []byte {
	return strconv.AppendUint(append(dst, member...), n, 10)
}

func appendBool(dst []byte, member string, b bool) []byte {
	return strconv.AppendBool(append(dst, member...), b)
}
