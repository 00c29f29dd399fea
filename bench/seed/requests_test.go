package seed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/bench/load"
)

type item struct {
	Identifier string
	Traits     []struct {
		Key   string `json:"trait_key"`
		Value string `json:"trait_value"`
	}
}

// read parses a request as a server would and checks that its length is right.
func read(t *testing.T, source load.Source, body any) *http.Request {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(source(nil)))
	req, err := http.ReadRequest(in)
	require.NoError(t, err)
	require.Equal(t, "key", req.Header.Get("X-Environment-Key"))
	if body != nil {
		raw, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, body), "%s", raw)
	}
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF, "more bytes than Content-Length says")
	return req
}

func TestRequests(t *testing.T) {
	p := Profile{Segments: 3, Conditions: 2, Traits: 4, NewTraits: 2, Identities: 1000}
	r := p.Requests("key")
	require.Equal(t, "/api/v1/flags/", read(t, r.Flags(), nil).URL.Path)

	unchanged, changing, fresh := r.Unchanged(1), r.Changing(1), r.New("a-")
	seen := map[string]bool{}
	for i := range 50 {
		var a, b, c item
		require.Equal(t, "/api/v1/identities/", read(t, unchanged, &a).URL.Path)
		require.Len(t, a.Traits, 4)
		read(t, changing, &b)
		require.Len(t, b.Traits, 5)
		require.Equal(t, "seen", b.Traits[4].Key)
		require.Len(t, b.Traits[4].Value, 10)
		require.False(t, seen[b.Traits[4].Value], "a change must change something")
		seen[b.Traits[4].Value] = true
		read(t, fresh, &c)
		require.Equal(t, string(appendIdentifier(nil, "a-", i)), c.Identifier)
		require.Len(t, c.Traits, 2)
	}
}

// What is posted as unchanged must be what was loaded.
func TestLoadedIdentitiesAreTheUnchangedOnes(t *testing.T) {
	p := Profile{Segments: 3, Traits: 4, Identities: 250}
	r := p.Requests("key")
	require.Equal(t, 3, r.Loads())
	source := r.Load()
	have := map[string]item{}
	for range r.Loads() {
		var in struct{ Data []item }
		require.Equal(t, "/api/v1/bulk-identities/", read(t, source, &in).URL.Path)
		require.Len(t, in.Data, BulkSize)
		for _, d := range in.Data {
			have[d.Identifier] = d
		}
	}
	require.Len(t, have, 300)
	require.Equal(t, "segment_02_value_01", have["user-000000006"].Traits[1].Value)
	unchanged, transient := r.Unchanged(7), r.Transient(7)
	for range 100 {
		var d item
		read(t, unchanged, &d)
		require.Equal(t, have[d.Identifier], d)
		var e struct {
			item
			Transient bool
		}
		read(t, transient, &e)
		require.Equal(t, d, e.item)
		require.True(t, e.Transient)
	}
}

// Unleash Edge is asked for the same identities with the same traits.
func TestUnleashRequests(t *testing.T) {
	p := Profile{Segments: 3, Conditions: 2, Traits: 4, Identities: 1000}
	u, r := p.Unleash("token"), p.Requests("key")
	parse := func(raw []byte, body any) *http.Request {
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		require.NoError(t, err)
		if body != nil {
			require.NoError(t, json.NewDecoder(req.Body).Decode(body))
		}
		return req
	}
	get := parse(u.Flags()(nil), nil)
	require.Equal(t, "/api/frontend/all", get.URL.Path)
	require.Equal(t, "token", get.Header.Get("Authorization"))
	ours, theirs := r.Unchanged(3), u.Identities(3)
	for i := range 50 {
		var a item
		var b struct {
			UserID     string
			Properties map[string]string
		}
		parse(ours(nil), &a)
		raw := theirs(nil)
		require.Equal(t, len(raw), bytes.Index(raw, []byte("\r\n\r\n"))+4+int(parse(raw, &b).ContentLength))
		require.Equal(t, a.Identifier, b.UserID)
		require.Len(t, b.Properties, len(a.Traits))
		for _, trait := range a.Traits {
			require.Equal(t, trait.Value, b.Properties[trait.Key])
		}
		parse(r.Identity(i), &a)
		parse(u.Identity(i), &b)
		require.Equal(t, Loaded(i), a.Identifier)
		require.Equal(t, a.Identifier, b.UserID)
	}
}

func TestMany(t *testing.T) {
	out, err := many(100, func(i int) (int64, error) { return int64(i), nil })
	require.NoError(t, err)
	require.EqualValues(t, 99, out[99])
	var steps atomic.Int64
	boom := errors.New("boom")
	_, err = many(100_000, func(int) (int64, error) { steps.Add(1); return 0, boom })
	require.ErrorIs(t, err, boom)
	require.LessOrEqual(t, steps.Load(), int64(writers))
}

// With more segments than two digits can number, all bodies still have one length.
func TestManySegments(t *testing.T) {
	p := Profile{Segments: 500, Traits: 3, Identities: 10_000}
	source := p.Requests("key").Unchanged(1)
	for range 100 {
		var d item
		read(t, source, &d)
		require.Len(t, d.Traits, 3)
	}
	require.Equal(t, "segment_007_value_01", p.LoadedTraits(7)[1].Value)
}

// Identities with short traits have lengths of their own, and puts change every other one.
func TestShort(t *testing.T) {
	r := Profile{}.Requests("key")
	type list struct {
		Data []struct {
			Identifier string
			Traits     []struct {
				Key   string `json:"trait_key"`
				Value any    `json:"trait_value"`
			}
		}
	}
	all, puts := r.ShortBulk(0), r.ShortPuts(300, 1)
	have := map[string]any{}
	for range 3 {
		var in list
		read(t, all, &in)
		require.Len(t, in.Data, BulkSize)
		for _, d := range in.Data {
			require.Len(t, d.Traits, len(ShortKeys))
			have[d.Identifier] = d.Traits[1].Value
		}
	}
	require.Len(t, have, 300)
	fresh := map[string]bool{}
	for range 2 {
		var in list
		read(t, puts, &in)
		for i, d := range in.Data {
			if _, known := have[d.Identifier]; known {
				require.Equal(t, 1, i%2)
				continue
			}
			fresh[d.Identifier] = true
		}
	}
	require.Len(t, fresh, BulkSize, "half of two requests is new")
}

func TestToggles(t *testing.T) {
	source := Toggles("Token x", []string{"/a/", "/b/"}, true)
	for _, want := range []struct {
		path    string
		enabled bool
	}{{"/a/", true}, {"/b/", true}, {"/a/", false}, {"/b/", false}, {"/a/", true}} {
		raw := source(nil)
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		require.NoError(t, err)
		var body struct{ Enabled bool }
		require.NoError(t, json.NewDecoder(req.Body).Decode(&body))
		require.Equal(t, want.path, req.URL.Path)
		require.Equal(t, want.enabled, body.Enabled)
		require.Equal(t, "Token x", req.Header.Get("Authorization"))
		require.Equal(t, int(req.ContentLength), len(raw)-bytes.Index(raw, []byte("\r\n\r\n"))-4)
	}
}

func TestFlagsUnless(t *testing.T) {
	require.Equal(t, `W/"7"`, read(t, Profile{}.Requests("key").FlagsUnless(`W/"7"`), nil).Header.Get("If-None-Match"))
}
