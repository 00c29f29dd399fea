package sdk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// traits cuts the member "traits" out of an identity answer.
func traits(t *testing.T, a answer) string {
	t.Helper()
	require.Equal(t, 200, a.status, a.body)
	_, rest, _ := strings.Cut(a.body, `"traits":`)
	list, _, ok := strings.Cut(rest, `,"flags":`)
	require.True(t, ok, a.body)
	return list
}

func TestIdentifyStory(t *testing.T) {
	h := newHouse(t)
	// A new identity: ids in the order sent, null is not echoed.
	require.Equal(t, `[{"id":1,"trait_key":"plan","trait_value":"pro","transient":false},{"id":2,"trait_key":"age","trait_value":30,"transient":false},`+
		`{"id":3,"trait_key":"whole","trait_value":2.0,"transient":false},{"id":4,"trait_key":"beta","trait_value":true,"transient":false},{"id":5,"trait_key":"empty","trait_value":"","transient":false}]`,
		traits(t, h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"plan","trait_value":"pro"},{"trait_key":"age","trait_value":30},{"trait_key":"whole","trait_value":2.0},`+
			`{"trait_key":"beta","trait_value":true},{"trait_key":"nothing","trait_value":null},{"trait_key":"empty","trait_value":""}]}`)))
	// Update in place, delete by null, the rest stays.
	require.Equal(t, `[{"id":2,"trait_key":"age","trait_value":"thirty","transient":false},{"id":3,"trait_key":"whole","trait_value":2.0,"transient":false},{"id":4,"trait_key":"beta","trait_value":true,"transient":false},{"id":5,"trait_key":"empty","trait_value":"","transient":false}]`,
		traits(t, h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"age","trait_value":"thirty"},{"trait_key":"plan","trait_value":null}]}`)))
	// New traits of a known identity show no id; objects are Python text; a transient one lies over.
	require.Equal(t, `[{"id":null,"trait_key":"age","trait_value":1,"transient":true},{"id":3,"trait_key":"whole","trait_value":2.0,"transient":false},{"id":4,"trait_key":"beta","trait_value":true,"transient":false},{"id":5,"trait_key":"empty","trait_value":"","transient":false},`+
		`{"id":null,"trait_key":"obj","trait_value":"{'a': [1, True, None]}","transient":false}]`,
		traits(t, h.post("identities/", `{"identifier":" bob ","traits":[{"trait_key":"obj","trait_value":{"a":[1,true,null]}},{"trait_key":"age","trait_value":1,"transient":true}]}`)))
	require.Contains(t, traits(t, h.post("identities/", `{"identifier":"eve","traits":[{"trait_key":"t","trait_value":1,"transient":true},{"trait_key":"kept","trait_value":2}]}`)),
		`"trait_key":"kept","trait_value":2,"transient":false},{"id":null,"trait_key":"t","trait_value":1,"transient":true}]`, "transient ones come last")
	require.Equal(t, `[{"id":2,"trait_key":"age","trait_value":"thirty","transient":false},{"id":3,"trait_key":"whole","trait_value":2.0,"transient":false},{"id":4,"trait_key":"beta","trait_value":true,"transient":false},{"id":5,"trait_key":"empty","trait_value":"","transient":false},`+
		`{"id":6,"trait_key":"obj","trait_value":"{'a': [1, True, None]}","transient":false}]`,
		traits(t, h.get("identities/?identifier=bob")))
}

func TestIdentifyAnonymous(t *testing.T) {
	h := newHouse(t)
	want := `{"identifier":"9746f9086f61e37ea956bac460df92fc8108e27b344f6b716dab539fcd89e75b","traits":[{"id":null,"trait_key":"plan","trait_value":"pro","transient":true}],"flags":[]}`
	for _, body := range []string{
		`{"traits":[{"trait_key":"plan","trait_value":"pro"}]}`,
		`{"identifier":null,"traits":[{"trait_key":"plan","trait_value":"pro"},{"trait_key":"n","trait_value":null}]}`,
		`{"identifier":"  ","traits":[{"trait_key":"plan","trait_value":"pro"}],"transient":false}`,
	} {
		require.Equal(t, want, h.post("identities/", body).body)
	}
	require.Regexp(t, `^\{"identifier":"[0-9a-f]{32}","traits":\[\],"flags":\[\]\}$`, h.post("identities/", `{"identifier":null}`).body)
	require.Equal(t, "sum: 1.0True-3x", "sum: "+concatenated(t, h))
	require.Zero(t, h.FSM.State().Identities().Environment(h.env.ID).Count())
}

// concatenated shows that values enter the name as Python prints them.
func concatenated(t *testing.T, h *house) string {
	t.Helper()
	body := h.post("identities/", `{"traits":[{"trait_key":"d","trait_value":"x"},{"trait_key":"b","trait_value":true},{"trait_key":"a","trait_value":1.0},{"trait_key":"c","trait_value":-3}]}`).body
	require.Contains(t, body, nameOf([]traitInput{{key: []byte("a"), value: []byte("1.0")}, {key: []byte("b"), value: []byte("true")}, {key: []byte("c"), value: []byte("-3")}, {key: []byte("d"), value: []byte(`"x"`)}}))
	return "1.0True-3x"
}

func TestEveryTraitThatWasSentIsPartOfTheName(t *testing.T) {
	h := newHouse(t)
	const body = `{"traits":[{"trait_key":"plan","trait_value":%q},{"trait_key":"a","trait_value":1},{"trait_key":"plan","trait_value":"pro"}]}`
	free := h.post("identities/", fmt.Sprintf(body, "free")).body
	require.Contains(t, free, fmt.Sprintf(`{"identifier":"%x","traits":[`, sha256.Sum256([]byte("a1planfreeplanpro"))))
	require.NotContains(t, h.post("identities/", fmt.Sprintf(body, "trial")).body, free[:len(`{"identifier":"`)+64])
}

func TestIdentifyTransient(t *testing.T) {
	h := newHouse(t)
	h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1}]}`)
	require.Equal(t, `[{"id":1,"trait_key":"a","trait_value":1,"transient":false},{"id":null,"trait_key":"b","trait_value":2,"transient":true}]`,
		traits(t, h.post("identities/", `{"identifier":"bob","transient":true,"traits":[{"trait_key":"b","trait_value":2}]}`)))
	require.Equal(t, `[{"id":null,"trait_key":"b","trait_value":2,"transient":true}]`,
		traits(t, h.post("identities/", `{"identifier":"ghost","transient":true,"traits":[{"trait_key":"b","trait_value":2}]}`)))
	require.Equal(t, `[]`, traits(t, h.get("identities/?identifier=bob&transient=false")))
	require.Equal(t, `[{"id":1,"trait_key":"a","trait_value":1,"transient":false}]`, traits(t, h.get("identities/?identifier=bob")))
	require.Equal(t, 1, h.FSM.State().Identities().Environment(h.env.ID).Count())
}

func TestGetIdentities(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "f"}, true, str("v"))
	for _, path := range []string{"identities/", "identities/?identifier="} {
		r := h.get(path)
		require.Equal(t, 200, r.status)
		require.Equal(t, `{"detail":"Missing identifier"}`, r.body)
	}
	r := h.get("identities/?identifier=a%20b%2Bc%40d.com%2F%C3%A9")
	require.True(t, strings.HasPrefix(r.body, `{"identifier":"a b+c@d.com/\u00e9",`), r.body)
	require.Equal(t, 1, h.FSM.State().Identities().Environment(h.env.ID).Count())
	require.Equal(t, 400, h.get("identities/?identifier="+strings.Repeat("z", 2001)).status)
	require.Equal(t, 400, h.get("identities/?identifier=a%00b").status)
	r = h.get("identities/?identifier=x&feature=f")
	require.Contains(t, r.body, `"feature_state_value":"v","environment":1,"identity":null,"feature_segment":null,"enabled":true,"variant":null}`)
	r = h.get("identities/?identifier=x&feature=F")
	require.Equal(t, 404, r.status)
	require.NotEmpty(t, r.header("X-Flagsmith-Document-Updated-At"))
}

// TestNulInPath names an identity, and a trait, that cannot be.
func TestNulInPath(t *testing.T) {
	h := newHouse(t)
	for _, r := range []answer{h.get("flags/a%00b"), h.get("identities/a%00b/"), h.post("identities/a%00b/traits/k", `{"trait_value":1}`)} {
		require.Equal(t, 400, r.status)
		require.Equal(t, `{"identifier":["Null characters are not allowed."]}`, r.body)
	}
	require.Equal(t, `{"trait_key":["Null characters are not allowed."]}`, h.post("identities/bob/traits/a%00b", `{"trait_value":1}`).body)
	require.Zero(t, h.FSM.State().Identities().Environment(h.env.ID).Count())
}

func TestOverrides(t *testing.T) {
	h := newHouse(t)
	f, base := h.feature(fsm.Feature{Name: "f"}, false, str("default"))
	_, over := h.segment("pro", "plan", "pro", f, str("for pros"))
	flag := func(body string) string {
		_, list, _ := strings.Cut(h.post("identities/", body).body, `"flags":[`)
		return strings.TrimSuffix(list, "]}")
	}
	item := func(id uint64, value string, identity, segment any, enabled bool) string {
		return fmt.Sprintf(`{"id":%d,"feature":%s,"feature_state_value":"%s","environment":%d,"identity":%v,"feature_segment":%v,"enabled":%v,"variant":null}`,
			id, featureJSON(f), value, h.env.ID, identity, segment, enabled)
	}
	require.Equal(t, item(base.ID, "default", "null", "null", false), flag(`{"identifier":"bob"}`))
	require.Equal(t, item(over.ID, "for pros", "null", over.FeatureSegment, true), flag(`{"identifier":"bob","traits":[{"trait_key":"plan","trait_value":"pro"}]}`))
	own := h.override("bob", f, str("for bob"))
	require.Equal(t, item(own.ID, "for bob", own.Identity, "null", true), flag(`{"identifier":"bob"}`))
	require.Equal(t, item(own.ID, "for bob", own.Identity, "null", true), flag(`{"identifier":"bob","transient":true}`))
	require.Contains(t, h.get("identities/?identifier=bob&feature=f").body, "for bob")
	require.NotContains(t, h.get("identities/?identifier=bob&transient=1").body, "for bob")
	require.Contains(t, flag(`{"identifier":"eve"}`), `"default"`)
}

func TestVariants(t *testing.T) {
	h := newHouse(t)
	red := "red-key"
	h.feature(fsm.Feature{Name: "mv", Type: fsm.Multivariate}, true, str("control value"),
		fsm.MultivariateOption{Value: str("red"), Key: &red, DefaultPercentageAllocation: 100})
	h.feature(fsm.Feature{Name: "unkeyed", Type: fsm.Multivariate}, true, str("c"),
		fsm.MultivariateOption{Value: integer(7), DefaultPercentageAllocation: 100})
	h.feature(fsm.Feature{Name: "never", Type: fsm.Multivariate}, true, str("kept"),
		fsm.MultivariateOption{Value: str("gone"), DefaultPercentageAllocation: 0})
	body := h.get("identities/?identifier=x").body
	require.Contains(t, body, `"feature_state_value":"red","environment":1,"identity":null,"feature_segment":null,"enabled":true,"variant":"red-key"}`)
	require.Contains(t, body, `"feature_state_value":7,"environment":1,"identity":null,"feature_segment":null,"enabled":true,"variant":null}`)
	require.Contains(t, body, `"feature_state_value":"kept","environment":1,"identity":null,"feature_segment":null,"enabled":true,"variant":"control"}`)
	require.Contains(t, h.get("flags/").body, `"control value"`)
	require.NotContains(t, h.get("flags/").body, `variant`)
	require.Equal(t, `{"control_value":"control value","options":[{"value":"red"}]}`, h.get("flags/1/multivariate-options/").body)
	require.Equal(t, 404, h.get("flags/99/multivariate-options/").status)
}

func TestClientTraitsForbidden(t *testing.T) {
	h := newHouse(t)
	h.set(func(e *fsm.Environment) { e.AllowClientTraits = false })
	const body = `{"identifier":"ct","traits":[{"trait_key":"a","trait_value":1}]}`
	require.Equal(t, `[]`, traits(t, h.post("identities/", body)))
	require.Equal(t, `[{"id":null,"trait_key":"a","trait_value":1,"transient":false}]`, traits(t, h.do("POST", "/api/v1/identities/", serverKey, body)))
	require.Equal(t, `[{"id":1,"trait_key":"a","trait_value":1,"transient":false}]`, traits(t, h.post("identities/", body)))
	one := `{"identity":{"identifier":"ct"},"trait_key":"b","trait_value":1}`
	r := h.post("traits/", one)
	require.Equal(t, 400, r.status)
	require.Equal(t, `{"non_field_errors":["Setting traits not allowed with client key."]}`, r.body)
	require.Equal(t, 200, h.do("POST", "/api/v1/traits/", serverKey, one).status)
	r = h.do("PUT", "/api/v1/traits/bulk/", clientKey, "["+one+"]")
	require.Equal(t, 400, r.status)
	require.Equal(t, `{"detail":"Unable to set traits with client key."}`, r.body)
}

func TestPersistTraitDataOff(t *testing.T) {
	h := newHouse(t)
	h.Write(t, func(tx *fsm.Tx) error {
		h.org.PersistTraitData = false
		fsm.Organisations.Put(tx, h.org)
		return nil
	})
	require.Equal(t, `[{"id":null,"trait_key":"a","trait_value":1,"transient":false}]`,
		traits(t, h.post("identities/", `{"identifier":"np","traits":[{"trait_key":"a","trait_value":1}]}`)))
	require.Equal(t, `[]`, traits(t, h.get("identities/?identifier=np")))
	r := h.post("traits/", `{"identity":{"identifier":"np"},"trait_key":"b","trait_value":1}`)
	require.Equal(t, 403, r.status)
	require.Equal(t, `{"detail":"Organisation is not authorised to store traits."}`, r.body)
	require.Equal(t, 1, h.FSM.State().Identities().Environment(h.env.ID).Count())
}

func TestHashKeyWithoutCompositeKey(t *testing.T) {
	h := newHouse(t)
	f, state := h.feature(fsm.Feature{Name: "mv", Type: fsm.Multivariate}, true, str("control"),
		fsm.MultivariateOption{Value: str("half"), DefaultPercentageAllocation: 50})
	h.set(func(e *fsm.Environment) { e.UseCompositeKeyForHashing = false })
	for i := range 20 {
		name := fmt.Sprint("user-", i)
		first := h.get("identities/?identifier=" + name)
		rec, _ := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte(name))
		want := "control"
		if bucketOf(state.ID, fmt.Sprint(rec.ID())) < 50 {
			want = "half"
		}
		require.Contains(t, first.body, `"feature_state_value":"`+want+`"`, f.Name)
		require.Equal(t, first.body, h.get("identities/?identifier="+name).body)
	}
}

// writes counts what reaches the writer; broken tells how it fails.
type writes struct {
	IdentityWriter
	n      atomic.Int64
	broken atomic.Pointer[error] // hangs when it is errHang
}

var errHang = errors.New("hangs")

func (w *writes) Write(ctx context.Context, ops []identity.Op) (uint64, []identity.Result, error) {
	w.n.Add(1)
	switch err := w.broken.Load(); {
	case err == nil:
		return w.IdentityWriter.Write(ctx, ops)
	case errors.Is(*err, errHang):
		<-ctx.Done()
		return 0, nil, ctx.Err()
	default:
		return 0, nil, *err
	}
}

func TestWritesOnlyWhenNeeded(t *testing.T) {
	fresh := true
	var w *writes
	h := newHouse(t, func(c *Config) {
		w = &writes{IdentityWriter: c.Identities}
		c.Identities, c.Fresh = w, func() bool { return fresh }
	})
	const body = `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1},{"trait_key":"b","trait_value":"x"}]}`
	h.post("identities/", body)
	require.EqualValues(t, 1, w.n.Load())
	h.post("identities/", body)
	h.post("identities/", `{"identifier":"bob"}`)
	h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"b","trait_value":"x"}]}`)
	h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"c","trait_value":null}]}`)
	h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":9,"transient":true}]}`)
	h.get("identities/?identifier=bob")
	require.EqualValues(t, 1, w.n.Load())
	h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1.0}]}`)
	require.EqualValues(t, 2, w.n.Load())
	fresh = false
	h.post("identities/", `{"identifier":"bob"}`)
	require.EqualValues(t, 3, w.n.Load())
}

// TestWhatIsAppliedInAMomentIsAwaited: a node that is behind what it heard is committed catches up, instead of asking for a write.
func TestWhatIsAppliedInAMomentIsAwaited(t *testing.T) {
	var w *writes
	behind, asked := false, 0
	var cannot error
	h := newHouse(t, func(c *Config) {
		w = &writes{IdentityWriter: c.Identities}
		c.Identities = w
		c.Applied = func() bool { return !behind }
		c.CatchUp = func(time.Duration) error { asked++; return cannot }
	})
	const bob, traits = `{"identifier":"bob"}`, `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1}]}`
	h.post("identities/", traits)
	h.post("identities/", bob)
	require.Equal(t, 0, asked, "nothing to wait for")
	behind = true
	for i, body := range []string{bob, traits, traits + " "} {
		h.post("identities/", body)
		require.Equal(t, i+1, asked)
	}
	h.get("identities/?identifier=bob")
	require.Equal(t, 4, asked)
	require.EqualValues(t, 1, w.n.Load())
	cannot = errors.New("nobody leads")
	h.post("identities/", bob)
	require.EqualValues(t, 2, w.n.Load(), "who cannot catch up writes")
}

// TestOldTraitsAreNews: what this node takes for no change may undo a write that
// another node acknowledged a moment ago.
func TestOldTraitsAreNews(t *testing.T) {
	var w *writes
	var elsewhere func() error
	h := newHouse(t, func(c *Config) {
		w = &writes{IdentityWriter: c.Identities}
		c.Identities = w
		c.CatchUp = func(time.Duration) error {
			if elsewhere == nil {
				return nil
			}
			return elsewhere()
		}
	})
	const old = `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":"old"}]}`
	h.post("identities/", old)
	h.post("identities/", old)
	require.EqualValues(t, 1, w.n.Load(), "nothing new")

	elsewhere = func() error { // the node learns of another node's write
		elsewhere = nil
		h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":"new"}]}`)
		return nil
	}
	r := h.post("identities/", old)
	require.EqualValues(t, 3, w.n.Load(), "the other write and the one that sets it back")
	require.Contains(t, traits(t, r), `"old"`)
	require.Contains(t, traits(t, h.get("identities/?identifier=bob")), `"old"`)

	elsewhere = func() error { return errors.New("nobody leads") }
	h.post("identities/", old)
	require.EqualValues(t, 4, w.n.Load(), "who cannot ask writes")
	h.post("identities/", `{"identifier":"bob"}`)
	require.EqualValues(t, 4, w.n.Load(), "without traits there is nothing to set back")
}

func TestAnswersWithoutALeader(t *testing.T) {
	var w *writes
	h := newHouse(t, func(c *Config) {
		w = &writes{IdentityWriter: c.Identities}
		c.Identities, c.PersistBudget, c.WriteBudget = w, 10*time.Millisecond, 10*time.Millisecond
	})
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	h.segment("pro", "plan", "pro", f, str("for pros"))
	for _, broken := range []error{errors.New("no leader"), errHang, fsm.ErrOverloaded} {
		w.broken.Store(&broken)
		r := h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"plan","trait_value":"pro"}]}`)
		require.Equal(t, 200, r.status)
		require.Equal(t, "false", r.header("Flagraft-Traits-Persisted"))
		require.Contains(t, r.body, `"for pros"`)
		require.Equal(t, `[{"id":null,"trait_key":"plan","trait_value":"pro","transient":false}]`, traits(t, r))
		for _, c := range [][3]string{
			{"POST", "bulk-identities", `{"data":[{"identifier":"a"}]}`},
			{"POST", "traits/", `{"identity":{"identifier":"a"},"trait_key":"b","trait_value":1}`},
			{"PUT", "traits/bulk/", `[{"identity":{"identifier":"a"},"trait_key":"b","trait_value":1}]`},
			{"POST", "traits/increment-value/", `{"identifier":"a","trait_key":"b","increment_by":1}`},
		} {
			r := h.do(c[0], "/api/v1/"+c[1], clientKey, c[2])
			require.Equal(t, 503, r.status, c)
			counts := strings.Contains(c[1], "increment") && !errors.Is(broken, fsm.ErrOverloaded) // twice, if it is sent again
			require.Equal(t, counts, r.header("Retry-After") == "", c)
			require.Equal(t, counts, !strings.Contains(r.body, "try again"), r.body)
		}
	}
	require.EqualValues(t, 3, h.sdk.Unpersisted())
	w.broken.Store(nil)
	r := h.post("identities/", `{"identifier":"bob","traits":[{"trait_key":"plan","trait_value":"pro"}]}`)
	require.Empty(t, r.header("Flagraft-Traits-Persisted"))
}

func TestTooManyTraitBytes(t *testing.T) {
	h := newHouse(t)
	var items []string
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"trait_key":"k%d","trait_value":"%s"}`, i, strings.Repeat("x", 2000)))
	}
	r := h.post("identities/", `{"identifier":"big","traits":[`+strings.Join(items, ",")+`]}`)
	require.Equal(t, 200, r.status)
	require.Equal(t, "false", r.header("Flagraft-Traits-Persisted"))
	_, ok := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte("big"))
	require.False(t, ok)
}

// Of many identities those are named that are not stored: the others are.
func TestTooManyTraitBytesOfOneAmongMany(t *testing.T) {
	h := newHouse(t)
	var bulk, list []string
	for i := range 40 {
		bulk = append(bulk, fmt.Sprintf(`{"trait_key":"k%d","trait_value":"%s"}`, i, strings.Repeat("x", 2000)))
		list = append(list, `{"identity":{"identifier":"d"},`+bulk[i][1:])
	}
	big := `[` + strings.Join(bulk, ",") + `]`
	stored := func(name string) bool {
		_, ok := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte(name))
		return ok
	}
	const over = "is not stored: The traits of one identity may take at most 65536 bytes."

	r := h.post("bulk-identities", `{"data":[{"identifier":"a"},{"identifier":"b","traits":`+big+`},{"identifier":"c"}]}`)
	require.Equal(t, 400, r.status)
	require.Equal(t, `{"non_field_errors":["Identity 'b' `+over+`","All others are stored."]}`, r.body)
	require.True(t, stored("a") && !stored("b") && stored("c"))

	r = h.do("PUT", "/api/v1/traits/bulk/", clientKey, `[`+strings.Join(list, ",")+`,{"identity":{"identifier":"e"},"trait_key":"k","trait_value":1}]`)
	require.Equal(t, 400, r.status)
	require.Equal(t, `{"non_field_errors":["Identity 'd' `+over+`","All others are stored."]}`, r.body)
	require.True(t, !stored("d") && stored("e"))

	r = h.post("bulk-identities", `{"data":[{"identifier":"b","traits":`+big+`}]}`)
	require.Equal(t, `{"non_field_errors":["The traits of one identity may take at most 65536 bytes."]}`, r.body)
	r = h.post("bulk-identities", `{"data":[{"identifier":"b","traits":`+big+`},{"identifier":"f","traits":`+big+`}]}`)
	require.Equal(t, `{"non_field_errors":["Identity 'b' `+over+`","Identity 'f' `+over+`"]}`, r.body)
}

func TestManyTraits(t *testing.T) {
	h := newHouse(t)
	var forward, backward []string
	for i := range 300 {
		forward = append(forward, fmt.Sprintf(`{"trait_key":"k%d","trait_value":%d}`, i, i))
		backward = append(backward, fmt.Sprintf(`{"trait_key":"k%d","trait_value":%d}`, 299-i, 299-i))
	}
	one := h.post("identities/", `{"identifier":"a","traits":[`+strings.Join(forward, ",")+`]}`)
	two := h.post("identities/", `{"identifier":"a","traits":[`+strings.Join(backward, ",")+`]}`)
	require.Empty(t, one.header("Flagraft-Traits-Persisted"))
	require.Equal(t, traits(t, one), traits(t, two), "another order must answer the same list")
	require.NotContains(t, one.body, `"id":null,"trait_key"`, "every trait has its id")
}

// Posts for one identity from many sides merge; answers never mix.
func TestConcurrentPosts(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.PersistBudget = time.Minute })
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	h.segment("pro", "k3", "5", f, str("for k3"))
	var posters sync.WaitGroup
	for p := range 8 {
		posters.Go(func() {
			for i := range 10 {
				key := fmt.Sprintf("k%d", p)
				r := h.post("identities/", fmt.Sprintf(`{"identifier":"one","traits":[{"trait_key":"%s","trait_value":%d}]}`, key, i))
				if want := fmt.Sprintf(`"trait_key":"%s","trait_value":%d,`, key, i); !strings.Contains(r.body, want) {
					t.Errorf("%s is not in %s", want, r.body)
				}
				own := h.post("identities/", fmt.Sprintf(`{"identifier":"own-%d","traits":[{"trait_key":"k","trait_value":"%s"}]}`, p, strings.Repeat("x", p*i)))
				if want := fmt.Sprintf(`{"identifier":"own-%d",`, p); !strings.HasPrefix(own.body, want) {
					t.Errorf("%s does not start with %s", own.body, want)
				}
			}
		})
	}
	posters.Wait()
	rec, ok := h.FSM.State().Identities().Environment(h.env.ID).Lookup([]byte("one"))
	require.True(t, ok)
	require.Equal(t, 8, rec.TraitCount())
	for p := range 8 {
		value, _, _ := rec.Trait(fmt.Sprint("k", p))
		require.Equal(t, "9", string(value))
	}
}

// Beyond the limit SDKs get the right flags without their identity being stored,
// and those who need it stored are told when to come back. Known identities
// notice nothing.
func TestTooManyNewIdentities(t *testing.T) {
	h := newHouse(t)
	h.NewIdentities = 1
	known := `{"identifier":"known","traits":[{"trait_key":"n","trait_value":%d}]}`
	h.post("identities/", fmt.Sprintf(known, 0))
	created := 0
	next := func() string { created++; return fmt.Sprintf("new-%d", created) }
	require.Eventually(t, func() bool {
		r := h.post("identities/", `{"identifier":"`+next()+`"}`)
		require.Equal(t, 200, r.status)
		return r.header("Flagraft-Traits-Persisted") == "false"
	}, 10*time.Second, time.Millisecond, "one of many in a second is refused")
	require.Eventually(t, func() bool {
		r := h.do("POST", "/api/v1/bulk-identities", clientKey, `{"data":[{"identifier":"`+next()+`"}]}`)
		return r.status == 503 && r.header("Retry-After") == "1" && strings.Contains(r.body, "new identities")
	}, 10*time.Second, time.Millisecond)
	for i := range 20 {
		r := h.post("identities/", fmt.Sprintf(known, i+1))
		require.Empty(t, r.header("Flagraft-Traits-Persisted"))
	}
	require.Eventually(t, func() bool {
		return h.post("identities/", `{"identifier":"later"}`).header("Flagraft-Traits-Persisted") == ""
	}, 10*time.Second, 10*time.Millisecond, "the next second has room")
}
