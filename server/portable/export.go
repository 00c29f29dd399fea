package portable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Options say what an export holds.
type Options struct {
	Organisation uint64 // 0: all
	Identities   bool
	Secrets      bool // server-side keys
	Flagraft     string
}

// Write writes a document of a state, project by project.
func Write(w io.Writer, s *fsm.State, o Options) error {
	d := Document{Format: Format, Version: Version, Flagraft: o.Flagraft, Index: s.Index, Time: s.Time.Std(), Identities: o.Identities, Secrets: o.Secrets,
		Organisations: []Organisation{}}
	out := &writer{w: w}
	out.open(d, "organisations", 0)
	for org := range fsm.Organisations.All(s) {
		if o.Organisation != 0 && org.ID != o.Organisation {
			continue
		}
		out.item(1)
		out.open(organisation(org), "projects", 2)
		for p := range fsm.ProjectsByOrganisation.All(s, org.ID) {
			out.item(3)
			out.value((&exporter{s: s, o: o}).project(p), 4)
		}
		out.shut(2)
	}
	out.shut(0)
	out.text("\n")
	return out.err
}

// writer writes indented JSON whose lists come piece by piece. The first error stays.
type writer struct {
	w     io.Writer
	err   error
	empty []bool // of the open lists
}

func (w *writer) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.w, s)
	}
}

func indent(n int) string { return "\n" + "                "[:2*n] }

// open writes an object up to its last member, an empty list, and begins that list.
func (w *writer) open(v any, list string, depth int) {
	raw := w.marshal(v, depth)
	end := fmt.Sprintf("\"%s\": []%s}", list, indent(depth))
	if w.err == nil && len(raw) < len(end) {
		w.err = fmt.Errorf("portable: %T does not end with %s", v, list)
	}
	if w.err == nil {
		w.text(string(raw[:len(raw)-len(end)]) + fmt.Sprintf("\"%s\": [", list))
	}
	w.empty = append(w.empty, true)
}

// marshal writes a value that begins in the column of its depth; <, > and & stay as they are.
func (w *writer) marshal(v any, depth int) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent(depth)[1:], "  ")
	if err := enc.Encode(v); err != nil && w.err == nil {
		w.err = err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func (w *writer) item(depth int) {
	if last := len(w.empty) - 1; !w.empty[last] {
		w.text(",")
	} else {
		w.empty[last] = false
	}
	w.text(indent(depth + 1))
}

func (w *writer) value(v any, depth int) {
	w.text(string(w.marshal(v, depth)))
}

func (w *writer) shut(depth int) {
	last := len(w.empty) - 1
	if !w.empty[last] {
		w.text(indent(depth + 1))
	}
	w.empty = w.empty[:last]
	w.text("]" + indent(depth) + "}")
}

func organisation(o fsm.Organisation) Organisation {
	return Organisation{UUID: o.UUID, Name: o.Name, CreatedDate: o.CreatedDate.Std(), PersistTraitData: o.PersistTraitData,
		StopServingFlags: o.StopServingFlags, FeatureAnalytics: o.FeatureAnalytics, RestrictProjectCreateToAdmin: o.RestrictProjectCreateToAdmin,
		Force2FA: o.Force2FA, WebhookNotificationEmail: o.WebhookNotificationEmail, Projects: []Project{}}
}

// exporter makes one project.
type exporter struct {
	s *fsm.State
	o Options

	tags, segments, options map[uint64]int // id → number
	fields                  map[uint64]int // model field → number
	features                map[uint64]string
}

func (x *exporter) project(p fsm.Project) Project {
	x.tags, x.segments, x.options, x.features = map[uint64]int{}, map[uint64]int{}, map[uint64]int{}, map[uint64]string{}
	out := Project{UUID: p.UUID, Name: p.Name, CreatedDate: p.CreatedDate.Std(), HideDisabledFlags: p.HideDisabledFlags,
		EnableRealtimeUpdates: p.EnableRealtimeUpdates, PreventFlagDefaults: p.PreventFlagDefaults, OnlyAllowLowerCaseNames: p.OnlyAllowLowerCaseNames,
		FeatureNameRegex: p.FeatureNameRegex, StaleFlagsLimitDays: p.StaleFlagsLimitDays, EnforceFeatureOwners: p.EnforceFeatureOwners,
		Tags: []Tag{}, Features: []Feature{}, Segments: []Segment{}, Environments: []Environment{}}
	for t := range fsm.TagsByProject.All(x.s, p.ID) {
		x.tags[t.ID] = len(out.Tags) + 1
		out.Tags = append(out.Tags, Tag{Number: x.tags[t.ID], UUID: t.UUID, Label: t.Label, Color: t.Color, Description: t.Description,
			IsPermanent: t.IsPermanent, IsSystemTag: t.IsSystemTag, Type: t.Type})
	}
	out.CustomFields = x.customFields(p)
	for f := range fsm.FeaturesByProject.All(x.s, p.ID) {
		out.Features = append(out.Features, x.feature(f))
	}
	for g := range fsm.SegmentsByProject.All(x.s, p.ID) {
		x.segments[g.ID] = len(out.Segments) + 1
		out.Segments = append(out.Segments, Segment{Number: x.segments[g.ID], UUID: g.UUID, Name: g.Name, Description: g.Description,
			Feature: x.features[g.Feature], CreatedAt: g.CreatedAt.Std(), Rules: rules(g.Rules), CustomFields: x.fieldValues(fsm.ContentSegment, g.ID)})
	}
	for e := range fsm.EnvironmentsByProject.All(x.s, p.ID) {
		out.Environments = append(out.Environments, x.environment(e))
	}
	return out
}

func (x *exporter) feature(f fsm.Feature) Feature {
	x.features[f.ID] = f.Name
	out := Feature{UUID: f.UUID, Name: f.Name, Type: string(f.Type), CreatedDate: f.CreatedDate.Std(), DefaultEnabled: f.DefaultEnabled,
		InitialValue: f.InitialValue, Description: f.Description, IsArchived: f.IsArchived, IsServerKeyOnly: f.IsServerKeyOnly,
		Tags: []int{}, Options: []Option{}, CustomFields: x.fieldValues(fsm.ContentFeature, f.ID)}
	for _, t := range f.Tags {
		if n := x.tags[t]; n != 0 {
			out.Tags = append(out.Tags, n)
		}
	}
	slices.Sort(out.Tags)
	for o := range fsm.MultivariateOptionsByFeature.All(x.s, f.ID) {
		x.options[o.ID] = len(out.Options) + 1
		out.Options = append(out.Options, Option{Number: x.options[o.ID], UUID: o.UUID, Value: value(o.Value), Percentage: o.DefaultPercentageAllocation, Key: o.Key})
	}
	return out
}

func value(v fsm.FeatureValue) Value {
	return Value{Type: string(v.Type), String: v.String, Integer: v.Integer, Boolean: v.Boolean}
}

func rules(list []fsm.SegmentRule) []Rule {
	out := make([]Rule, len(list))
	for i, r := range list {
		out[i] = Rule{Type: r.Type, Rules: rules(r.Rules), Conditions: make([]Condition, len(r.Conditions))}
		for j, c := range r.Conditions {
			out[i].Conditions[j] = Condition{Operator: c.Operator, Property: c.Property, Value: c.Value, Description: c.Description}
		}
	}
	return out
}

func (x *exporter) environment(e fsm.Environment) Environment {
	out := Environment{UUID: e.UUID, Name: e.Name, APIKey: e.APIKey, Description: e.Description, CreatedDate: e.CreatedDate.Std(),
		AllowClientTraits: e.AllowClientTraits, BannerText: e.BannerText, BannerColour: e.BannerColour, HideDisabledFlags: e.HideDisabledFlags,
		UseCompositeKeyForHashing: e.UseCompositeKeyForHashing, HideSensitiveData: e.HideSensitiveData, UseV2FeatureVersioning: e.UseV2FeatureVersioning,
		UseIdentityOverridesInLocal: e.UseIdentityOverridesInLocal, UseMVV2Evaluation: e.UseMVV2Evaluation,
		CustomFields: x.fieldValues(fsm.ContentEnvironment, e.ID), States: []State{}, SegmentOverrides: []Override{}}
	if x.o.Secrets {
		for k := range fsm.EnvironmentAPIKeysByEnvironment.All(x.s, e.ID) {
			out.ServerKeys = append(out.ServerKeys, ServerKey{Key: k.Key, Name: k.Name, Active: k.Active, CreatedAt: k.CreatedAt.Std(), ExpiresAt: moment(k.ExpiresAt)})
		}
	}
	for s := range fsm.FeatureStatesByEnvironment.All(x.s, e.ID, fsm.StateDefault) {
		out.States = append(out.States, x.state(s))
	}
	for g := range fsm.FeatureSegmentsByEnvironment.All(x.s, e.ID) {
		for s := range fsm.FeatureStatesByFeatureSegment.All(x.s, g.ID) {
			out.SegmentOverrides = append(out.SegmentOverrides, Override{Segment: x.segments[g.Segment], Priority: g.Priority, State: x.state(s)})
		}
	}
	out.Versions = x.versions(e.ID)
	if x.o.Identities {
		out.Identities = x.identities(e.ID)
	}
	return out
}

func (x *exporter) state(s fsm.FeatureState) State {
	out := State{UUID: s.UUID, Feature: x.features[s.Feature], Enabled: s.Enabled, Value: value(s.Value), Seed: s.HashSeed(), Version: s.Version}
	if s.LiveFrom > s.UpdatedAt {
		out.LiveFrom = moment(s.LiveFrom) // it is still to come, or was when it was written
	}
	for _, v := range s.Multivariate {
		out.Variants = append(out.Variants, Variant{Option: x.options[v.Option], Percentage: v.Percentage})
	}
	return out
}

// identities lists those of an environment by creation.
func (x *exporter) identities(environment uint64) (out []Identity) {
	store := x.s.Identities().Environment(environment)
	var after []byte
	for {
		page := store.Scan(nil, after, 1000)
		for i := range page {
			out = append(out, x.identity(&page[i]))
		}
		if len(page) < 1000 {
			return out
		}
		after = slices.Clone(page[len(page)-1].Identifier())
	}
}

func (x *exporter) identity(r *identity.Record) Identity {
	out := Identity{Identifier: string(r.Identifier()), Alias: string(r.Alias()), Traits: map[string]Trait{}}
	for it := r.Traits(); it.Next(); {
		out.Traits[it.Key()] = json.RawMessage(slices.Clone(it.Value()))
	}
	for s := range fsm.FeatureStatesByIdentity.All(x.s, r.ID()) {
		out.Overrides = append(out.Overrides, x.state(s))
	}
	return out
}

var (
	firstMoment = fsm.TimeOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	lastMoment  = fsm.TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
)

func moment(t fsm.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	// Times of the years that JSON has: older versions stored what offsets carried beyond them, and one such time must not end the whole export.
	std := min(max(t, firstMoment), lastMoment).Std()
	return &std
}
