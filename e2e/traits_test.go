package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// write is an acknowledged write of one trait: when it was under way and which log
// index its answer named.
type write struct {
	value       string
	began, done time.Time
	index       uint64
}

// model is what must be stored after all writes.
type model struct {
	mu      sync.Mutex
	own     map[[2]string]any     // identity, key → last value of the only writer; nil: deleted
	shared  map[[2]string][]write // identity, key → every write of it
	counted map[[2]string]int64   // identity, key → sum of increments
}

func (m *model) keep(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// traitClient is one of the concurrent clients: each of its requests goes to
// another node.
type traitClient struct {
	t    *testing.T
	ctx  context.Context
	name string
	sdk  []*nodes.Client // one a node
	rnd  *rand.Rand
	m    *model
}

func (c *traitClient) do(method, path string, body any) *nodes.Answer {
	return stored(c.ctx, c.sdk[c.rnd.IntN(len(c.sdk))], method, path, body)
}

// stored sends a write until the answer does not say that it may not be stored, as
// it does when storing takes long. Always to the same node: what is still under way there comes
// before what is sent later. A failure panics; the goroutine's owner reports it.
func stored(ctx context.Context, sdk *nodes.Client, method, path string, body any) *nodes.Answer {
	for range 50 {
		a, err := sdk.Must(ctx, method, path, body, 200)
		if err != nil {
			panic(err)
		}
		if a.Header.Get("Flagraft-Traits-Persisted") != "false" {
			return a
		}
	}
	panic(fmt.Sprintf("%s %s: never stored", method, path))
}

func trait(key string, value any) object { return object{"trait_key": key, "trait_value": value} }

// step sends one random request and notes in the model what it did.
func (c *traitClient) step(i int) {
	identity := func() string { return fmt.Sprintf("shared-%d", c.rnd.IntN(6)) }
	own := fmt.Sprintf("own_%s_%d", c.name, c.rnd.IntN(3))
	id, value := identity(), fmt.Sprintf("%s-%d", c.name, i)
	switch c.rnd.IntN(6) {
	case 0: // one trait of its own, and one that others write as well
		key := fmt.Sprintf("shared_%d", c.rnd.IntN(2))
		w := write{value: value, began: time.Now()}
		a := c.do("POST", "/api/v1/identities/", object{"identifier": id, "traits": []object{trait(own, value), trait(key, value)}})
		w.done, w.index = time.Now(), indexOf(a)
		c.m.keep(func() {
			c.m.own[[2]string{id, own}] = value
			c.m.shared[[2]string{id, key}] = append(c.m.shared[[2]string{id, key}], w)
		})
	case 1: // forget one
		c.do("POST", "/api/v1/identities/", object{"identifier": id, "traits": []object{trait(own, nil)}})
		c.m.keep(func() { c.m.own[[2]string{id, own}] = nil })
	case 2: // several identities in one request
		other := identity()
		c.do("POST", "/api/v1/bulk-identities/", object{"data": []object{
			{"identifier": id, "traits": []object{trait(own, value)}}, {"identifier": other, "traits": []object{trait(own, value)}}}})
		c.m.keep(func() { c.m.own[[2]string{id, own}], c.m.own[[2]string{other, own}] = value, value })
	case 3:
		c.do("PUT", "/api/v1/traits/bulk/", []object{{"identity": object{"identifier": id}, "trait_key": own, "trait_value": i}})
		c.m.keep(func() { c.m.own[[2]string{id, own}] = json.Number(strconv.Itoa(i)) })
	case 4:
		c.do("POST", "/api/v1/traits/", object{"identity": object{"identifier": id}, "trait_key": own, "trait_value": i%2 == 0})
		c.m.keep(func() { c.m.own[[2]string{id, own}] = i%2 == 0 })
	default:
		by := c.rnd.Int64N(9) - 3
		c.do("POST", "/api/v1/traits/increment-value/", object{"identifier": id, "trait_key": "count", "increment_by": by})
		c.m.keep(func() { c.m.counted[[2]string{id, "count"}] += by })
	}
}

// indexOf reads the log index of a write from its answer.
func indexOf(a *nodes.Answer) uint64 {
	token := a.Header.Get("Flagraft-Index")
	n, _ := strconv.ParseUint(token[strings.LastIndexByte(token, '-')+1:], 10, 64)
	return n
}

// traitsAt reads the stored traits of an identity from one node.
func traitsAt(t *testing.T, ctx context.Context, sdk *nodes.Client, identifier string) object {
	t.Helper()
	a, err := sdk.Must(ctx, "GET", "/api/v1/identities/?identifier="+url.QueryEscape(identifier), nil, 200)
	require.NoError(t, err)
	got := object{}
	for _, row := range a.Get("traits").([]any) {
		got[row.(object)["trait_key"].(string)] = row.(object)["trait_value"]
	}
	return got
}

// check compares what a node stores with the model.
func (m *model) check(t *testing.T, ctx context.Context, sdk *nodes.Client) {
	t.Helper()
	stored := map[string]object{}
	at := func(k [2]string) any {
		if stored[k[0]] == nil {
			stored[k[0]] = traitsAt(t, ctx, sdk, k[0])
		}
		return stored[k[0]][k[1]]
	}
	for k, want := range m.own {
		require.Equal(t, want, at(k), "%v at %s", k, sdk.Base)
	}
	for k, sum := range m.counted {
		require.Equal(t, json.Number(strconv.FormatInt(sum, 10)), at(k), "increments of %v at %s", k, sdk.Base)
	}
	for k, writes := range m.shared {
		var last write
		for _, w := range writes {
			if w.value == at(k) {
				last = w
			}
		}
		require.NotEmpty(t, last.value, "%v at %s: %v was never written", k, sdk.Base, at(k))
		for _, w := range writes {
			require.LessOrEqual(t, w.index, last.index, "%v: %s is later in the log than %s, which is stored", k, w.value, last.value)
			require.False(t, w.began.After(last.done), "%v: %s began after %s, which is stored, was acknowledged", k, w.value, last.value)
		}
	}
}

// TestTraitsFromEverywhere lets 8 clients write disjoint and overlapping traits of
// the same identities through all nodes at once: no trait is lost, the last write in the log wins, all
// increments count.
func TestTraitsFromEverywhere(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	sdk := eachNode(c, p)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &model{own: map[[2]string]any{}, shared: map[[2]string][]write{}, counted: map[[2]string]int64{}}
	together(t, func(w int) {
		client := &traitClient{t: t, ctx: ctx, name: fmt.Sprintf("c%d", w), sdk: sdk, rnd: rand.New(rand.NewPCG(seed, uint64(w))), m: m}
		for i := range 300 {
			client.step(i)
		}
	})
	_, err := c.OneState(ctx)
	require.NoError(t, err)
	for _, s := range sdk {
		m.check(t, ctx, s)
	}
}

// eachNode gives a client of the SDK API to each node.
func eachNode(c *nodes.Cluster, p *nodes.Project) (sdk []*nodes.Client) {
	for _, n := range c.Nodes {
		sdk = append(sdk, n.Client().With("X-Environment-Key", p.EnvironmentKey))
	}
	return sdk
}

// together runs eight at once; one that panics fails the test.
func together(t *testing.T, run func(w int)) {
	t.Helper()
	failures := make(chan any, 8)
	for w := range cap(failures) {
		go func() {
			defer func() { failures <- recover() }()
			run(w)
		}()
	}
	for range cap(failures) {
		require.Nil(t, <-failures)
	}
}

// TestOldValueAgain writes a new value through one node and, as soon as that is
// acknowledged, the old one through another, which may not have applied the new one yet and
// must not take the old one for no change.
func TestOldValueAgain(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	sdk := eachNode(c, p)
	together(t, func(w int) {
		for i := range 100 {
			id := fmt.Sprintf("back-%d-%d", w, i%10)
			for step, value := range []string{"old", "new", "old"} {
				stored(ctx, sdk[(w+i+step)%len(sdk)], "POST", "/api/v1/identities/", object{"identifier": id, "traits": []object{trait("k", value)}})
			}
			a := stored(ctx, sdk[(w+i+2)%len(sdk)], "GET", "/api/v1/identities/?identifier="+id, nil)
			if !strings.Contains(string(a.Body), `"trait_value":"old"`) {
				panic(fmt.Sprintf("%s, on the node that answered last: %s", id, a.Body))
			}
		}
	})
	_, err := c.OneState(ctx)
	require.NoError(t, err)
	for _, s := range sdk {
		for w := range 8 {
			for i := range 10 {
				id := fmt.Sprintf("back-%d-%d", w, i)
				require.Equal(t, object{"k": "old"}, traitsAt(t, ctx, s, id), "%s at %s", id, s.Base)
			}
		}
	}
}
