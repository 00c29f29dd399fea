package fsm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// What a range removes is among the changes, and nothing beside it.
func TestChangesHaveTheRowsOfARange(t *testing.T) {
	s := newStage(t, 3, 1)
	var changes []fsm.Change[fsm.FeatureState]
	s.Write(t, func(tx *fsm.Tx) error {
		fsm.FeatureStatesByFeature.DeleteAll(tx, s.features[1].ID)
		changes = fsm.FeatureStates.Changes(tx)
		return nil
	})
	require.Len(t, changes, 2) // the default and the segment's
	for _, c := range changes {
		require.Equal(t, s.features[1].ID, c.Before.Feature)
		require.Nil(t, c.After)
	}
}
