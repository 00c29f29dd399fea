package admin

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// memorySink keeps a snapshot in memory.
type memorySink struct{ bytes.Buffer }

func (*memorySink) ID() string    { return "walk" }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) Close() error  { return nil }

// throughSnapshot gives the state that a node restores from a snapshot of this one.
func (h *harness) throughSnapshot() (*fsm.State, *fsm.Views) {
	h.Helper()
	snapshot, err := h.node.FSM.Snapshot()
	require.NoError(h, err)
	sink := &memorySink{}
	require.NoError(h, snapshot.Persist(sink))
	snapshot.Release()
	log := slog.New(slog.DiscardHandler)
	views := fsm.NewViews(log)
	h.Cleanup(views.Stop)
	other := fsm.New(log, views)
	require.NoError(h, other.Restore(io.NopCloser(&sink.Buffer)))
	return other.State(), views
}

// served is what a View was compiled to.
func served(t *testing.T, views *fsm.Views, e fsm.Environment) (out []string) {
	live, ok := views.ByID(e.ID)
	require.True(t, ok)
	require.NoError(t, views.Wait(t.Context(), 0, e.ID))
	require.Eventually(t, func() bool { return live.View() != nil }, 5*time.Second, time.Millisecond)
	for _, f := range live.View().Features {
		line := fmt.Sprint("feature ", f.Default.State.Feature, " state ", f.Default.State.ID)
		for _, o := range f.Overrides {
			line += fmt.Sprint(" override ", o.State.ID)
		}
		out = append(out, line)
	}
	v := live.View()
	return append(out, string(v.DocumentBody().Plain), string(v.FlagsBody(0, true).Plain))
}

// faults walks every reference between rows, and what must hold of each row.
func faults(r fsm.Reader) (all []string) {
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	project := func(e uint64) uint64 {
		if row := fsm.Environments.Ref(r, e); row != nil {
			return row.Project
		}
		return 0
	}
	shares := func(what string, feature uint64, values []fsm.MultivariateValue) {
		total, seen, last := 0.0, map[uint64]bool{}, uint64(0)
		for _, v := range values {
			total += v.Percentage
			if o := fsm.MultivariateOptions.Ref(r, v.Option); o == nil || o.Feature != feature {
				bad("%s: share of option %d", what, v.Option)
			}
			if seen[v.Option] {
				bad("%s: two shares of option %d", what, v.Option)
			}
			if v.ID <= last {
				bad("%s: shares out of order", what)
			}
			seen[v.Option], last = true, v.ID
		}
		if fsm.MoreThanWhole(total) {
			bad("%s: shares of %v", what, total)
		}
	}
	place := func(what string, feature, environment uint64) {
		if f := fsm.Features.Ref(r, feature); f == nil || f.Project == 0 || f.Project != project(environment) {
			bad("%s: feature %d in environment %d", what, feature, environment)
		}
	}
	link := func(what string, l fsm.FeatureSegment) {
		place(what, l.Feature, l.Environment)
		if s := fsm.Segments.Ref(r, l.Segment); s == nil || s.Project != project(l.Environment) {
			bad("%s: segment %d", what, l.Segment)
		}
	}
	for e := range fsm.Environments.All(r) {
		if fsm.Projects.Ref(r, e.Project) == nil {
			bad("environment %d: project %d", e.ID, e.Project)
		}
	}
	for f := range fsm.Features.All(r) {
		what := fmt.Sprint("feature ", f.ID)
		for _, id := range f.Tags {
			if t := fsm.Tags.Ref(r, id); t == nil || t.Project != f.Project {
				bad("%s: tag %d", what, id)
			}
		}
		p := fsm.Projects.Ref(r, f.Project)
		if p == nil {
			bad("%s: project %d", what, f.Project)
			continue
		}
		for _, id := range f.Owners {
			if _, ok := RoleOf(r, p.Organisation, id); !ok {
				bad("%s: owner %d", what, id)
			}
		}
		for _, id := range f.GroupOwners {
			if g := fsm.Groups.Ref(r, id); g == nil || g.Organisation != p.Organisation {
				bad("%s: group %d", what, id)
			}
		}
		total := 0.0
		for o := range fsm.MultivariateOptionsByFeature.Refs(r, f.ID) {
			total += o.DefaultPercentageAllocation
		}
		if fsm.MoreThanWhole(total) {
			bad("%s: default shares of %v", what, total)
		}
		for e := range fsm.EnvironmentsByProject.Refs(r, f.Project) {
			if n := fsm.FeatureStatesByEnvironment.Count(r, e.ID, fsm.StateDefault, f.ID); n != 1 {
				bad("%s: %d defaults in environment %d", what, n, e.ID)
			}
			serving, n := uint64(0), 0
			for v := range fsm.FeatureVersionsByEnvironment.Refs(r, e.ID, f.ID) {
				if v.Phase == fsm.VersionServing {
					serving, n = v.ID, n+1
				} else if states := fsm.StatesOf(r, *v); len(states) == 0 || states[0].State.Kind() != fsm.StateDefault {
					bad("version %d: no default", v.ID)
				}
			}
			if e.UseV2FeatureVersioning != (n == 1) {
				bad("%s: %d versions are served in environment %d", what, n, e.ID)
			}
			for _, s := range fsm.StatesInPlace(r, e.ID, f.ID) {
				if s.State.FeatureVersion != serving || s.Link.ID != 0 && s.Link.FeatureVersion != serving {
					bad("state %d: of version %d and %d, served is %d", s.ID, s.State.FeatureVersion, s.Link.FeatureVersion, serving)
				}
			}
		}
	}
	for o := range fsm.MultivariateOptions.All(r) {
		if fsm.Features.Ref(r, o.Feature) == nil {
			bad("option %d: feature %d", o.ID, o.Feature)
		}
	}
	for s := range fsm.FeatureStates.All(r) {
		what := fmt.Sprint("state ", s.ID)
		place(what, s.Feature, s.Environment)
		shares(what, s.Feature, s.Multivariate)
		if s.FeatureSegment != 0 {
			if l := fsm.FeatureSegments.Ref(r, s.FeatureSegment); l == nil || l.Feature != s.Feature || l.Environment != s.Environment {
				bad("%s: feature segment %d", what, s.FeatureSegment)
			}
		}
		if s.Identity != 0 {
			if _, ok := r.Identities().Environment(s.Environment).ByID(s.Identity); !ok {
				bad("%s: identity %d", what, s.Identity)
			}
			if fsm.FeatureStatesByIdentity.Count(r, s.Identity, s.Feature) != 1 {
				bad("%s: twice", what)
			}
		}
	}
	for l := range fsm.FeatureSegments.All(r) {
		link(fmt.Sprint("feature segment ", l.ID), l)
	}
	for s := range fsm.FeatureVersionStates.All(r) {
		what := fmt.Sprint("version state ", s.ID)
		if v := fsm.FeatureVersions.Ref(r, s.Version); v == nil || v.Feature != s.State.Feature || v.Environment != s.State.Environment || v.Phase == fsm.VersionServing {
			bad("%s: version %d", what, s.Version)
		}
		if s.Link.Segment != 0 {
			link(what, s.Link)
		}
		place(what, s.State.Feature, s.State.Environment)
		shares(what, s.State.Feature, s.State.Multivariate)
	}
	for v := range fsm.FeatureVersions.All(r) {
		place(fmt.Sprint("version ", v.ID), v.Feature, v.Environment)
	}
	for s := range fsm.Segments.All(r) {
		if f := fsm.Features.Ref(r, s.Feature); s.Feature != 0 && (f == nil || f.Project != s.Project) || fsm.Projects.Ref(r, s.Project) == nil {
			bad("segment %d: feature %d of project %d", s.ID, s.Feature, s.Project)
		}
	}
	for t := range fsm.Tags.All(r) {
		if fsm.Projects.Ref(r, t.Project) == nil {
			bad("tag %d: project %d", t.ID, t.Project)
		}
	}
	exists := func(kind fsm.ContentType, id uint64) bool {
		switch kind {
		case fsm.ContentEnvironment:
			return fsm.Environments.Ref(r, id) != nil
		case fsm.ContentFeature:
			return fsm.Features.Ref(r, id) != nil
		case fsm.ContentSegment:
			return fsm.Segments.Ref(r, id) != nil
		case fsm.ContentProject:
			return fsm.Projects.Ref(r, id) != nil
		}
		return fsm.Organisations.Ref(r, id) != nil
	}
	for m := range fsm.MetadataValues.All(r) {
		f := fsm.MetadataModelFields.Ref(r, m.ModelField)
		if f == nil || f.ContentType != m.ContentType || !exists(m.ContentType, m.Object) {
			bad("metadata %d: model field %d of %d %d", m.ID, m.ModelField, m.ContentType, m.Object)
		}
	}
	for f := range fsm.MetadataModelFields.All(r) {
		if fsm.MetadataFields.Ref(r, f.Field) == nil {
			bad("model field %d: field %d", f.ID, f.Field)
		}
		for _, q := range f.RequiredFor {
			if !exists(q.ContentType, q.Object) {
				bad("model field %d: required for %v", f.ID, q)
			}
		}
	}
	for p := range fsm.Permissions.All(r) {
		kind := map[fsm.Level]fsm.ContentType{fsm.LevelOrganisation: fsm.ContentOrganisation, fsm.LevelProject: fsm.ContentProject, fsm.LevelEnvironment: fsm.ContentEnvironment}[p.Level]
		if !exists(kind, p.Object) || p.User != 0 && fsm.Users.Ref(r, p.User) == nil || p.Group != 0 && fsm.Groups.Ref(r, p.Group) == nil {
			bad("permission %d: user %d group %d on %d %d", p.ID, p.User, p.Group, p.Level, p.Object)
		}
	}
	for e := range fsm.FeatureHealthEvents.All(r) {
		if fsm.Features.Ref(r, e.Feature) == nil || e.Environment != 0 && fsm.Environments.Ref(r, e.Environment) == nil {
			bad("health event %d: feature %d in environment %d", e.ID, e.Feature, e.Environment)
		}
	}
	for _, e := range r.Identities().Environments() {
		if fsm.Environments.Ref(r, e) == nil && r.Identities().Environment(e).Count() > 0 {
			bad("identities of environment %d", e)
		}
	}
	return all
}

// walker sends random requests about one project.
type walker struct {
	*harness
	rand *rand.Rand
	done map[string]int // requests by method, path pattern and status
}

func (w *walker) state() fsm.Reader { return w.node.FSM.State() }

// some gives the id of some row, or now and then of none.
func some[R any](w *walker, table fsm.Table[R], id func(R) uint64) uint64 {
	var ids []uint64
	for row := range table.All(w.state()) {
		ids = append(ids, id(row))
	}
	if len(ids) == 0 || w.rand.IntN(50) == 0 {
		return 99999
	}
	return ids[w.rand.IntN(len(ids))]
}

func (w *walker) feature() uint64 {
	return some(w, fsm.Features, func(f fsm.Feature) uint64 { return f.ID })
}
func (w *walker) segment() uint64 {
	return some(w, fsm.Segments, func(s fsm.Segment) uint64 { return s.ID })
}
func (w *walker) env() fsm.Environment {
	e, _ := fsm.Environments.Get(w.state(), some(w, fsm.Environments, func(e fsm.Environment) uint64 { return e.ID }))
	return e
}
func (w *walker) option(feature uint64) uint64 {
	if all := fsm.MultivariateOptionsByFeature.List(w.state(), feature); len(all) > 0 && w.rand.IntN(20) > 0 {
		return all[w.rand.IntN(len(all))].ID
	}
	return some(w, fsm.MultivariateOptions, func(o fsm.MultivariateOption) uint64 { return o.ID })
}
func (w *walker) identity(e fsm.Environment) (id uint64, uuid, name string) {
	store := w.state().Identities().Environment(e.ID)
	if store == nil || store.Count() == 0 {
		return 99999, "11111111-1111-4111-8111-111111111111", "nobody"
	}
	rec := store.Page(w.rand.IntN(store.Count()), 1)[0]
	u := rec.UUID()
	return rec.ID(), fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), string(rec.Identifier())
}

func (w *walker) bit(text string, args ...any) string {
	if w.rand.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf(text, args...)
}

func (w *walker) bool() bool { return w.rand.IntN(2) == 0 }

func (w *walker) shares(name, option string, feature uint64) string {
	if w.rand.IntN(3) > 0 {
		return ""
	}
	var list []string
	for range w.rand.IntN(3) {
		list = append(list, fmt.Sprintf(`{%q:%d,%q:%d}`, option, w.option(feature), map[bool]string{true: "weight", false: "percentage_allocation"}[option == "id"], w.rand.IntN(60)))
	}
	return fmt.Sprintf(`,%q:[%s]`, name, strings.Join(list, ","))
}

func (w *walker) mvShares(feature uint64) string {
	return w.shares("multivariate_feature_state_values", "multivariate_feature_option", feature)
}

func (w *walker) typed() string {
	return []string{`{"type":"unicode","string_value":"x"}`, `{"type":"int","integer_value":7}`, `{"type":"bool","boolean_value":true}`, `{"string_value":null}`}[w.rand.IntN(4)]
}

func (w *walker) versionState(feature uint64) string {
	segment := "null"
	if w.rand.IntN(4) > 0 {
		segment = fmt.Sprintf(`{"segment":%d%s}`, w.segment(), w.bit(`,"priority":%d`, w.rand.IntN(4)))
	}
	return fmt.Sprintf(`{"feature_segment":%s,"enabled":%v,"feature_state_value":%s%s}`, segment, w.bool(), w.typed(), w.mvShares(feature))
}

func (w *walker) call(method, path, body string) {
	w.Helper()
	r := w.do("admin", method, path, body)
	require.Less(w, r.Status, 500, "%s %s %s: %s", method, path, body, r.Raw)
	w.done[fmt.Sprint(method, " ", strings.Join(strings.FieldsFunc(path, func(c rune) bool { return c >= '0' && c <= '9' || c == '-' }), "#"), " ", r.Status)]++
	if all := faults(w.state()); len(all) > 0 {
		w.Fatalf("%s %s %s: %d %s\n%s", method, path, body, r.Status, r.Raw, strings.Join(all, "\n"))
	}
}

func (w *walker) step(n int) {
	w.Helper()
	e, f, s := w.env(), w.feature(), w.segment()
	if e.ID == 0 {
		e.APIKey = "nope"
	}
	const project = "/api/v1/projects/1/"
	env := "/api/v1/environments/" + e.APIKey + "/"
	id, u, name := w.identity(e)
	state := some(w, fsm.FeatureStates, func(s fsm.FeatureState) uint64 { return s.ID })
	if row, ok := fsm.FeatureStates.Get(w.state(), state); ok {
		f = row.Feature
	}
	own := fsm.FeatureStatesByIdentity.List(w.state(), id)
	override, overrideUUID := uint64(99999), "11111111-1111-4111-8111-111111111111"
	if len(own) > 0 {
		o := own[w.rand.IntN(len(own))]
		override, overrideUUID, f = o.ID, o.UUID.String(), o.Feature
	}
	versions := fsm.FeatureVersionsByEnvironment.List(w.state(), e.ID)
	version, vf := "11111111-1111-4111-8111-111111111111", f
	var vstate uint64
	if len(versions) > 0 {
		v := versions[w.rand.IntN(len(versions))]
		version, vf = v.UUID.String(), v.Feature
		if states := fsm.FeatureVersionStatesByVersion.List(w.state(), v.ID); len(states) > 0 {
			vstate = states[w.rand.IntN(len(states))].ID
		}
	}
	list := fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", e.ID, vf)
	tag := some(w, fsm.Tags, func(t fsm.Tag) uint64 { return t.ID })
	edge := env + "edge-identities/"
	overrides := func(key string) string {
		var all []string
		for range 1 + w.rand.IntN(3) {
			if key == "" {
				all = append(all, fmt.Sprintf(`{"segment":{"id":%d}%s%s%s}`, w.segment(), w.bit(`,"priority":%d`, w.rand.IntN(4)), w.bit(`,"enabled":%v`, w.bool()), w.shares("variants", "id", f)))
			} else {
				all = append(all, fmt.Sprintf(`{"segment_id":%d,"enabled":%v,"value":{"type":"string","value":"e"}%s%s}`, w.segment(), w.bool(), w.bit(`,"priority":%d`, w.rand.IntN(4)), w.mvShares(f)))
			}
		}
		return strings.Join(all, ",")
	}
	switch w.rand.IntN(46) {
	case 0, 1:
		w.call("POST", project+"features/", fmt.Sprintf(`{"name":"f%d","default_enabled":%v,"initial_value":"v"%s%s}`, n, w.bool(), w.bit(`,"tags":[%d]`, tag),
			w.bit(`,"multivariate_options":[{"string_value":"a","default_percentage_allocation":%d},{"string_value":"b","default_percentage_allocation":40}]`, w.rand.IntN(70))))
	case 2:
		if w.rand.IntN(3) == 0 {
			w.call("DELETE", fmt.Sprintf("%sfeatures/%d/", project, f), "")
		}
	case 3:
		w.call("PATCH", fmt.Sprintf("%sfeatures/%d/", project, f), fmt.Sprintf(`{"is_archived":%v%s%s}`, w.bool(), w.bit(`,"tags":[%d]`, tag),
			w.bit(`,"multivariate_options":[{"id":%d,"default_percentage_allocation":%d},{"string_value":"n","default_percentage_allocation":%d}]`, w.option(f), w.rand.IntN(70), w.rand.IntN(50))))
	case 4, 5, 6:
		w.call("POST", project+"segments/", fmt.Sprintf(`{"name":"s%d","rules":%s%s}`, n, rule(`{"operator":"IS_SET","property":"a"}`), map[bool]string{true: fmt.Sprintf(`,"feature":%d`, f)}[w.rand.IntN(5) == 0]))
	case 7:
		w.call("PATCH", fmt.Sprintf("%ssegments/%d/", project, s), fmt.Sprintf(`{"feature":%s}`, map[bool]string{true: fmt.Sprint(f), false: "null"}[w.rand.IntN(4) == 0]))
	case 8:
		if w.rand.IntN(3) == 0 {
			w.call("DELETE", fmt.Sprintf("%ssegments/%d/", project, s), "")
		}
	case 9:
		w.call("POST", "/api/v1/environments/", fmt.Sprintf(`{"name":"e%d","project":1}`, n))
	case 10:
		w.call("POST", env+"clone/", fmt.Sprintf(`{"name":"c%d"}`, n))
	case 11:
		if e.ID != 1 && w.rand.IntN(2) == 0 {
			w.call("DELETE", env, "")
		}
	case 12:
		w.call("POST", env+map[bool]string{true: "disable", false: "enable"}[e.UseV2FeatureVersioning && w.rand.IntN(2) == 0]+"-v2-versioning/", "")
	case 13, 14:
		w.call("PUT", fmt.Sprintf("/api/v1/features/featurestates/%d/", state), fmt.Sprintf(`{"enabled":%v,"feature_state_value":%s%s%s}`, w.bool(), w.typed(), w.mvShares(f), map[bool]string{true: `,"live_from":"2099-01-01T00:00:00Z"`}[w.rand.IntN(9) == 0]))
	case 15:
		w.call("PATCH", fmt.Sprintf("%sfeaturestates/%d/", env, state), fmt.Sprintf(`{"enabled":%v%s}`, w.bool(), w.mvShares(f)))
	case 16:
		w.call("POST", featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":%d}`, f, s, e.ID))
	case 17, 18:
		w.call("POST", fmt.Sprintf("%sfeatures/%d/create-segment-override/", env, f), fmt.Sprintf(`{"enabled":%v,"feature_state_value":%s,"feature_segment":{"segment":%d%s}%s}`, w.bool(), w.typed(), s, w.bit(`,"priority":%d`, w.rand.IntN(5)), w.mvShares(f)))
	case 19:
		l := some(w, fsm.FeatureSegments, func(l fsm.FeatureSegment) uint64 { return l.ID })
		w.call("DELETE", fmt.Sprintf("%s%d/", featureSegments, l), "")
	case 20:
		l := some(w, fsm.FeatureSegments, func(l fsm.FeatureSegment) uint64 { return l.ID })
		w.call("PUT", fmt.Sprintf("%s%d/", featureSegments, l), fmt.Sprintf(`{"segment":%d}`, s))
	case 21:
		links := fsm.FeatureSegmentsByEnvironment.List(w.state(), e.ID, f)
		var body []string
		for _, l := range links {
			body = append(body, fmt.Sprintf(`{"id":%d,"priority":%d}`, l.ID, w.rand.IntN(4)))
		}
		w.call("POST", featureSegments+"update-priorities/", "["+strings.Join(body, ",")+"]")
	case 22, 23:
		w.call(map[bool]string{true: "PUT", false: "PATCH"}[w.bool()], fmt.Sprintf("/api/__future__/environments/%s/features/%d/", e.APIKey, f), fmt.Sprintf(`{"environment_default":{"enabled":%v%s}%s}`, w.bool(), w.shares("variants", "id", f), w.bit(`,"segment_overrides":[%s]`, overrides(""))))
	case 24:
		w.call("POST", "/api/experiments/environments/"+e.APIKey+"/update-flag-v2/", fmt.Sprintf(`{"feature":{"id":%d},"environment_default":{"enabled":%v,"value":{"type":"integer","value":"4"}},"segment_overrides":[%s]}`, f, w.bool(), overrides("v2")))
	case 25:
		w.call("DELETE", fmt.Sprintf("/api/__future__/environments/%s/features/%d/segment-overrides/%d/", e.APIKey, f, s), "")
	case 26, 27:
		w.call("POST", project+fmt.Sprintf("features/%d/mv-options/", f), fmt.Sprintf(`{"feature":%d,"string_value":"o","default_percentage_allocation":%d}`, f, w.rand.IntN(60)))
	case 28:
		w.call("PUT", project+fmt.Sprintf("features/%d/mv-options/%d/", f, w.option(f)), fmt.Sprintf(`{"feature":%d,"string_value":"o","default_percentage_allocation":%d}`, f, w.rand.IntN(60)))
	case 29:
		w.call("DELETE", project+fmt.Sprintf("features/%d/mv-options/%d/", f, w.option(f)), "")
	case 30:
		w.call("POST", env+"identities/", fmt.Sprintf(`{"identifier":"i%d"}`, n))
	case 31:
		w.call("POST", edge, fmt.Sprintf(`{"identifier":"i%d","dashboard_alias":"a%d"}`, n, n))
	case 32:
		w.call("DELETE", []string{fmt.Sprintf("%sidentities/%d/", env, id), edge + u + "/"}[w.rand.IntN(2)], "")
	case 33:
		w.call("POST", fmt.Sprintf("%sidentities/%d/featurestates/", env, id), fmt.Sprintf(`{"feature":%d,"enabled":%v%s}`, w.feature(), w.bool(), w.mvShares(f)))
	case 34:
		w.call("POST", edge+u+"/edge-featurestates/", fmt.Sprintf(`{"feature":%d,"enabled":%v,"feature_state_value":"e"%s}`, w.feature(), w.bool(), w.mvShares(f)))
	case 35:
		w.call("PUT", env+"edge-identities-featurestates", fmt.Sprintf(`{"identifier":"%s","feature":%d,"enabled":%v%s}`, name, w.feature(), w.bool(), w.mvShares(f)))
	case 36:
		w.call("PUT", edge+u+"/edge-featurestates/"+overrideUUID+"/", fmt.Sprintf(`{"feature":%d,"enabled":%v%s}`, f, w.bool(), w.mvShares(f)))
	case 37:
		w.call("DELETE", []string{fmt.Sprintf("%sidentities/%d/featurestates/%d/", env, id, override), edge + u + "/edge-featurestates/" + overrideUUID + "/"}[w.rand.IntN(2)], "")
	case 38:
		other, otherUUID, _ := w.identity(e)
		w.call("POST", fmt.Sprintf("%sidentities/%d/featurestates/clone-from-given-identity/", env, id), fmt.Sprintf(`{"source_identity_id":%d}`, other))
		w.call("POST", edge+u+"/edge-featurestates/clone-from-given-identity/", fmt.Sprintf(`{"source_identity_uuid":%q}`, otherUUID))
	case 39, 40:
		w.call("POST", list, fmt.Sprintf(`{"publish_immediately":%v%s%s%s%s}`, w.bool(), w.bit(`,"feature_states_to_create":[%s,%s]`, w.versionState(vf), w.versionState(vf)),
			w.bit(`,"feature_states_to_update":[%s]`, w.versionState(vf)), w.bit(`,"segment_ids_to_delete_overrides":[%d]`, s),
			w.bit(`,"live_from":%q`, time.Now().Add(time.Duration(w.rand.IntN(20)-10)*time.Hour).UTC().Format(time.RFC3339))))
	case 41:
		w.call("POST", list+version+"/publish/", w.bit(`{"live_from":%q}`, time.Now().Add(time.Duration(w.rand.IntN(20)-10)*time.Hour).UTC().Format(time.RFC3339)))
	case 42:
		w.call("DELETE", list+version+"/", "")
	case 43:
		w.call("POST", list+version+"/featurestates/", w.versionState(vf))
		w.call("PUT", fmt.Sprintf("%s%s/featurestates/%d/", list, version, vstate), w.versionState(vf))
	case 44:
		w.call("DELETE", fmt.Sprintf("%s%s/featurestates/%d/", list, version, vstate), "")
	case 45:
		w.call("POST", project+"tags/", fmt.Sprintf(`{"label":"t%d"}`, n))
		if w.rand.IntN(2) == 0 {
			w.call("DELETE", fmt.Sprintf("%stags/%d/", project, tag), "")
		}
	}
}

// reads are what the API answers about the project.
func (w *walker) reads() (paths []string) {
	paths = []string{"/api/v1/projects/1/", "/api/v1/projects/1/features/", "/api/v1/projects/1/segments/", "/api/v1/projects/1/tags/", "/api/v1/environments/?project=1", "/api/v1/projects/1/audit/"}
	for e := range fsm.Environments.All(w.state()) {
		env := "/api/v1/environments/" + e.APIKey + "/"
		paths = append(paths, env, env+"featurestates/", env+"featurestates/?anyIdentity=1", env+"identities/", env+"edge-identities/", env+"edge-identity-overrides", env+"metrics/",
			fmt.Sprintf("/api/v1/projects/1/features/?environment=%d", e.ID), fmt.Sprintf("/api/v1/features/featurestates/?environment=%d", e.ID))
		for f := range fsm.Features.All(w.state()) {
			paths = append(paths, fmt.Sprintf("%s?environment=%d&feature=%d", featureSegments, e.ID, f.ID), fmt.Sprintf("/api/__future__/environments/%s/features/%d/", e.APIKey, f.ID),
				fmt.Sprintf("/api/v1/environments/%d/features/%d/versions/", e.ID, f.ID))
		}
	}
	return paths
}

// TestRandomWalk changes one project at random: after each request every reference between rows holds, and a node that restores a snapshot
// has the same state. In the end nothing of the project stays behind.
func TestRandomWalk(t *testing.T) {
	walks, _ := strconv.Atoi(os.Getenv("RANDOM_WALKS")) // more of them than in a test run
	for seed := range uint64(max(walks, 2)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &walker{harness: newHarness(t), rand: rand.New(rand.NewPCG(seed, 8)), done: map[string]int{}}
			for n := range 200 {
				w.step(n)
				if n%100 == 99 {
					restored, views := w.throughSnapshot()
					require.Equal(t, w.node.FSM.State().Hash(), restored.Hash())
					require.Empty(t, faults(restored))
					for e := range fsm.Environments.All(restored) {
						require.Equal(t, served(t, views, e), served(t, w.node.Views, e))
					}
					for _, path := range w.reads() {
						require.Less(t, w.do("admin", "GET", path, nil).Status, 500, path)
					}
				}
			}
			if testing.Verbose() {
				var lines []string
				for k, n := range w.done {
					lines = append(lines, fmt.Sprint(k, ": ", n))
				}
				slices.Sort(lines)
				if seed == 0 {
					t.Log(strings.Join(lines, "\n"))
				}
			}
			w.remove("/api/v1/projects/1/", 204)
			require.Empty(t, faults(w.state()))
			for _, n := range []int{count(w.state(), fsm.Environments), count(w.state(), fsm.Features), count(w.state(), fsm.FeatureStates), count(w.state(), fsm.FeatureSegments), count(w.state(), fsm.Segments), count(w.state(), fsm.Tags),
				count(w.state(), fsm.MultivariateOptions), count(w.state(), fsm.FeatureVersions), count(w.state(), fsm.FeatureVersionStates)} {
				require.Zero(t, n)
			}
		})
	}
}
