package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// FuzzScanBulk: what the quick way reads of a bulk body, the decoder reads the same.
func FuzzScanBulk(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"identifier":"a","traits":[{"trait_key":"k","trait_value":1.50}]},{"identifier":"b","traits":[{"trait_key":"k","trait_value":null}]}]}`,
		`{"data":[{"identifier":"a","transient":true},{"traits":[],"identifier":" b "}]}`, `{"data":[]}`, ` { "data" : [ { "identifier" : "x" } ] } `,
		`{"data":[{"identifier":"a","traits":[{"trait_key":"k","trait_value":1,"transient":true},{"trait_key":"k","trait_value":-0.0}]}]}`,
		`{"data":[{"identifier":""}]}`, `{"data":[{"identifier":null}]}`, `{"data":[{}]}`, `{"data":[,]}`, `{"data":null}`, `{"data":[{"identifier":"a"}],"x":1}`,
	} {
		f.Add([]byte(s), true)
	}
	s := New(Config{})
	f.Fuzz(func(t *testing.T, data []byte, persist bool) {
		fast, ok := newScratch().scanBulk(data, 7, persist)
		if !ok {
			return
		}
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBody(data)
		slow, err := s.decodeBulk(ctx, &route.Match{Row: &route.Row{}}, 7, persist)
		require.NoError(t, err, "%q", data)
		require.Len(t, fast, len(slow), "%q", data)
		for i := range slow {
			require.Equal(t, identity.AppendOp(nil, &slow[i]), identity.AppendOp(nil, &fast[i]), "%q", data)
		}
	})
}

func TestScanBulkTakesThePlainShape(t *testing.T) {
	item := `{"identifier":"a"},`
	many := ""
	for range maxBulk {
		many += item
	}
	for body, want := range map[string]bool{
		`{"data":[{"identifier":"a"}]}`:                  true,
		`{"data":[` + many[:len(many)-1] + `]}`:          true,
		`{"data":[` + many + `{"identifier":"a"}]}`:      false,
		`{"data":[{"identifier":"a"}],"more":1}`:         false,
		`{"data":[{"identifier":""}]}`:                   false,
		`{"data":[{"identifier":"a"}]}x`:                 false,
		`{"data":[{"identifier":"a"},]}`:                 false,
		`{"data":[{"identifier":"a","identifier":"b"}]}`: false,
	} {
		_, ok := newScratch().scanBulk([]byte(body), 1, true)
		require.Equal(t, want, ok, body)
	}
}
