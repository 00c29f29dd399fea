package server

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
)

// The bound is on flags that there are: where flags come and go, those of now would not be counted any more after a while.
func TestDeletedFlagsMakeRoomForOthers(t *testing.T) {
	n := fsmtest.New(t)
	n.Write(t, func(tx *fsm.Tx) error {
		org := fsm.Organisations.Put(tx, fsm.Organisation{Name: "o"})
		project := fsm.Projects.Put(tx, fsm.Project{Name: "p", Organisation: org.ID})
		fsm.Environments.Put(tx, fsm.Environment{ID: 1, Name: "e", APIKey: "k", Project: project.ID})
		fsm.Features.Put(tx, fsm.Feature{ID: maxFlagCounters + 1, Name: "new", Project: project.ID})
		return nil
	})
	m := &flagMetrics{node: &Node{fsm: n.FSM}, on: true}
	for feature := range uint64(maxFlagCounters) {
		m.add(1, feature, 1)
	}
	collect := func() []prometheus.Metric {
		ch := make(chan prometheus.Metric, maxFlagCounters)
		m.Collect(ch)
		close(ch)
		var all []prometheus.Metric
		for metric := range ch {
			all = append(all, metric)
		}
		return all
	}
	require.Empty(t, collect(), "none of the features is there any more")
	m.add(1, maxFlagCounters+1, 1)
	require.Len(t, collect(), 1)
	require.EqualValues(t, 1, m.size.Load())
}
