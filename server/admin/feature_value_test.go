package admin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// FuzzRawValue stores whatever a body may hold: what is accepted reads back as a value that stores as itself.
func FuzzRawValue(f *testing.F) {
	for _, seed := range []string{`"x"`, `" 5 "`, `5`, `-0`, `1e400`, `1.50`, `true`, `null`, `{}`, `[1]`, `99999999999`, `"\u0000"`, `"\ud800"`} {
		f.Add(seed)
	}
	c := &Ctx{Env: &Env{Options: defaultOptions()}}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := route.ParseBody("application/json", []byte(`{"v":`+text+`}`))
		if err != nil {
			return
		}
		var v, again fsm.FeatureValue
		if c.applyRaw(body.Get("v"), &v) != nil {
			return
		}
		body, err = route.ParseBody("application/json", []byte(`{"v":`+renderRaw(v).Literal()+`}`))
		require.NoError(t, err)
		require.NoError(t, c.applyRaw(body.Get("v"), &again))
		require.True(t, v.SameValue(again), "%s", text)
	})
}

// FuzzIDList reads any text without panicking, and a list of numbers as what it says.
func FuzzIDList(f *testing.F) {
	f.Add("1,2")
	f.Add(" , 7,,x")
	f.Fuzz(func(t *testing.T, text string) {
		ids, ok := idList(text)
		require.True(t, ok || ids == nil)
		for _, id := range ids {
			require.Less(t, id, uint64(1)<<63)
		}
	})
}
