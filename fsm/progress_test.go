package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressIsTheSmallestOfAllNodes(t *testing.T) {
	w, p := newTestWriter(t)
	var id uint64
	written, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		o := Organisations.Put(tx, Organisation{Name: "o"})
		project := Projects.Put(tx, Project{Name: "p", Organisation: o.ID})
		id = Environments.Put(tx, Environment{Name: "e", APIKey: "k", Project: project.ID}).ID
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, p.fsm.views.Wait(t.Context(), written.Index, id))

	progress := NewProgress(p.fsm.views)
	mine := progress.Collect()
	behind := []byte{200, 1, byte(id), 1} // applied 200, this environment's View at 1
	require.Zero(t, progress.Everywhere(id))
	progress.Deliver(progress.Merge(map[string][]byte{"a": mine, "b": {200, 1}}))
	require.Equal(t, written.Index, progress.Everywhere(id))
	progress.Deliver(progress.Merge(map[string][]byte{"a": mine, "b": behind}))
	require.EqualValues(t, 1, progress.Everywhere(id))
	progress.Deliver(progress.Merge(map[string][]byte{"a": mine, "b": {0xff}}))
	require.Zero(t, progress.Everywhere(id), "a damaged report counts as nothing")
}
