package admin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// TestNothingIsLimitedUnlessSet passes the numbers that a project shows, and then sets limits.
func TestNothingIsLimitedUnlessSet(t *testing.T) {
	h := newHarness(t)
	f, s := h.feature(`{"name":"f"}`), h.segment("s")
	h.node.Write(t, func(tx *fsm.Tx) error {
		for i := range shownFeatures {
			fsm.Features.Put(tx, fsm.Feature{UUID: tx.NewUUID(), Project: 1, Name: fmt.Sprint("f", i), Type: fsm.Standard})
		}
		for i := range shownSegments {
			fsm.Segments.Put(tx, fsm.Segment{UUID: tx.NewUUID(), Project: 1, Name: fmt.Sprint("s", i)})
		}
		for range shownSegmentOverrides {
			fsm.FeatureSegments.Put(tx, fsm.FeatureSegment{UUID: tx.NewUUID(), Environment: 1, Feature: f + 1, Segment: s + 1})
		}
		return nil
	})
	h.feature(`{"name":"one more"}`)
	h.segment("one more")
	h.link(f, s)
	shown := h.get("/api/v1/projects/1/", 200).object()
	require.EqualValues(t, 1000, shown["max_features_allowed"])
	require.EqualValues(t, 500, shown["max_segments_allowed"])
	require.EqualValues(t, 2000, shown["max_segment_overrides_allowed"])
	require.EqualValues(t, 1002, shown["total_features"])

	h.api.Env.Options.MaxFeatures, h.api.Env.Options.MaxSegments, h.api.Env.Options.MaxSegmentOverrides = 1002, 502, 2001
	h.post("/api/v1/projects/1/features/", `{"name":"too many"}`, 400).is(`{"project":["The Project has reached the maximum allowed features limit."]}`)
	h.post(featureSegments, fmt.Sprintf(`{"feature":%d,"segment":%d,"environment":1}`, f, s), 400).
		is(`{"environment":["The environment has reached the maximum allowed segments overrides limit."]}`)
	shown = h.get("/api/v1/projects/1/", 200).object()
	require.EqualValues(t, 1002, shown["max_features_allowed"])
	require.EqualValues(t, 502, shown["max_segments_allowed"])
	require.EqualValues(t, 2001, shown["max_segment_overrides_allowed"])
}
