package fsm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRootsKeepTheLastChangesets(t *testing.T) {
	var r roots
	require.Nil(t, r.at(5))
	for i := uint64(1); i <= keptRoots+10; i++ {
		r.add(&State{Index: 10 * i, Time: Time(i)})
	}
	require.Nil(t, r.at(109), "the 11th of 1010 is the oldest")
	require.EqualValues(t, 110, r.at(110).Index)
	require.EqualValues(t, 110, r.at(119).Index)
	require.EqualValues(t, 10_100, r.at(1<<60).Index)

	at := Time(0)
	r.reset(&State{Index: 20_000, Time: at})
	require.Nil(t, r.at(19_999))
	r.add(&State{Index: 20_001, Time: at.Add(10 * time.Second)})
	r.prune(at.Add(70 * time.Second))
	require.NotNil(t, r.at(20_000), "superseded 60 s ago")
	r.prune(at.Add(71 * time.Second))
	require.Nil(t, r.at(20_000))
	r.prune(at.Add(time.Hour))
	require.NotNil(t, r.at(20_001), "the newest stays however old it is")
}
