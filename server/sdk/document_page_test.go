package sdk

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

const (
	nodeAgent   = "flagsmith-nodejs-sdk/8.1.2"
	pythonAgent = "flagsmith-python-sdk/6.3.0"
)

// crowdedHouse has identities with overrides of 20 KB.
func crowdedHouse(t testing.TB, identities int, change ...func(*Config)) (*house, fsm.Feature) {
	h := newHouse(t, change...)
	f, _ := h.segmentless("f")
	for i := range identities {
		h.get(fmt.Sprintf("identities/?identifier=person-%03d", i))
	}
	h.overrideAll(f, identities, "v")
	return h, f
}

// overrideAll overrides a feature for the first identities in one write.
func (h *house) overrideAll(f fsm.Feature, identities int, value string) {
	h.Write(h.t, func(tx *fsm.Tx) error {
		for i := range identities {
			rec, _ := tx.Identities().Environment(h.env.ID).Lookup(fmt.Appendf(nil, "person-%03d", i))
			s, _ := fsm.FeatureStatesByIdentity.First(tx, rec.ID())
			if s.ID == 0 {
				s = fsm.FeatureState{UUID: uuid.New(), Feature: f.ID, Environment: h.env.ID, Identity: rec.ID(), Enabled: true, Version: 1}
			}
			s.Value = str(strings.Repeat(value, 20_000))
			fsm.FeatureStates.Put(tx, s)
		}
		tx.TouchEnvironment(h.env.ID)
		return nil
	})
}

var nextLink = regexp.MustCompile(`<([^>]+)>;\s*rel="next"`)

// next follows a Link as the Node client does: the whole URL is decoded once and
// resolved against the API's base.
func next(t testing.TB, link string) string {
	t.Helper()
	m := nextLink.FindStringSubmatch(link)
	require.NotNil(t, m, link)
	text, err := url.PathUnescape(m[1])
	require.NoError(t, err)
	base, _ := url.Parse("http://flags.example/api/v1/")
	u, err := base.Parse(text)
	require.NoError(t, err)
	return u.RequestURI()
}

// nextGo follows a Link as the Go client does: it takes page_id out of the query,
// and encodes it again in the query of the next request.
func nextGo(t testing.TB, link string) string {
	t.Helper()
	u, err := url.Parse(nextLink.FindStringSubmatch(link)[1])
	require.NoError(t, err)
	return "/api/v1/environment-document/?" + url.Values{"page_id": {u.Query().Get("page_id")}}.Encode()
}

// identifiers lists whose overrides a document has, and checks its shape.
func identifiers(t testing.TB, a answer) (who []string) {
	t.Helper()
	require.Equal(t, 200, a.status, "%.200s", a.body)
	var d struct {
		UpdatedAt time.Time `json:"updated_at"`
		Project   struct {
			Segments     []struct{}      `json:"segments"`
			Organisation json.RawMessage `json:"organisation"`
		} `json:"project"`
		FeatureStates []struct{} `json:"feature_states"`
		Overrides     []struct {
			Identifier string `json:"identifier"`
			Features   []struct {
				Value string `json:"feature_state_value"`
			} `json:"identity_features"`
		} `json:"identity_overrides"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &d))
	require.False(t, d.UpdatedAt.IsZero())
	require.NotNil(t, d.Project.Segments)
	require.NotNil(t, d.Project.Organisation)
	require.NotNil(t, d.FeatureStates)
	for _, o := range d.Overrides {
		who = append(who, o.Identifier+o.Features[0].Value[:1])
	}
	return who
}

func everybody(n int, value string) (who []string) {
	for i := range n {
		who = append(who, fmt.Sprintf("person-%03d%s", i, value))
	}
	return who
}

func TestPagesAreFollowed(t *testing.T) {
	h, f := crowdedHouse(t, 120)
	for name, follow := range map[string]func(testing.TB, string) string{"node": next, "go": nextGo} {
		t.Run(name, func(t *testing.T) {
			a := h.document("User-Agent", nodeAgent)
			require.Contains(t, a.header("Vary"), "User-Agent")
			who, pages := identifiers(t, a), 1
			for a.header("Link") != "" {
				require.Regexp(t, `^</api/v1/environment-document/\?page_id=[A-Za-z0-9-]+>; rel="next"$`, a.header("Link"))
				if pages == 1 {
					h.overrideAll(f, 10, string('a'+rune(len(name)))) // the others are still cut at their own index
				}
				a = h.do("GET", follow(t, a.header("Link")), serverKey, "", "User-Agent", nodeAgent)
				who, pages = append(who, identifiers(t, a)...), pages+1
			}
			require.Equal(t, 3, pages)
			require.Equal(t, who[10:], everybody(120, "v")[10:])
			require.Len(t, who, 120)
			h.overrideAll(f, 10, "v")
		})
	}
}

func TestWhoGetsPages(t *testing.T) {
	mode := PagesAuto
	h, _ := crowdedHouse(t, 60, func(c *Config) { c.DocumentPages = mode })
	paged := func(agent string) bool { return h.document("User-Agent", agent).header("Link") != "" }
	for _, agent := range []string{
		pythonAgent, "flagsmith-java-sdk/7.4.3", "flagsmith-rust-sdk/3.1.2", "flagsmith-ruby-sdk/1", "flagsmith-php-sdk/1", "flagsmith-dotnet-sdk/9.0.0",
		"flagsmith-elixir-sdk/2.3.1", "python-httpx/0.27.0", "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)", "",
		"node", "undici", "Bun/1.1.0", "Deno/1.40.0", // the Node SDK up to 6.1
		"flagsmith-python-client/3.10.1 python-requests/2.34.2 python/3.11",
		"python-requests/2.34.2", // the Python SDK up to 3.9
		"Python-urllib/3.11",     // py-flagsmith-cli 1.1.0
	} {
		require.False(t, paged(agent), agent)
	}
	for _, agent := range []string{nodeAgent, "unknown", "flagsmith-go-sdk/5.0.0", "Go-http-client/1.1", "curl/8"} {
		require.True(t, paged(agent), agent)
	}
	require.Equal(t, everybody(60, "v"), identifiers(t, h.document("User-Agent", pythonAgent)))
	h.sdk.DocumentPages = PagesAlways
	require.True(t, paged(pythonAgent))
	h.sdk.DocumentPages = PagesNever
	require.False(t, paged(nodeAgent))

	few, _ := crowdedHouse(t, 2)
	a := few.document("User-Agent", nodeAgent)
	require.Empty(t, a.header("Link"))
	require.NotContains(t, a.header("Vary"), "User-Agent")
}

func TestConditionalPages(t *testing.T) {
	h, f := crowdedHouse(t, 60)
	first := h.document("User-Agent", nodeAgent)
	whole := h.document("User-Agent", pythonAgent)
	require.NotEqual(t, first.header("ETag"), whole.header("ETag"))
	require.Equal(t, 304, h.document("User-Agent", nodeAgent, "If-None-Match", first.header("ETag")).status)
	require.Equal(t, 200, h.document("User-Agent", nodeAgent, "If-None-Match", whole.header("ETag")).status)
	unchanged := h.document("User-Agent", nodeAgent, "If-Modified-Since", first.header("Last-Modified"))
	require.Equal(t, 304, unchanged.status)
	require.Equal(t, first.header("ETag"), unchanged.header("ETag"))
	require.NotEmpty(t, unchanged.header("Link"), "a newer one than a cache has")

	uri := next(t, first.header("Link"))
	second := h.do("GET", uri, serverKey, "")
	require.Equal(t, first.header("Last-Modified"), second.header("Last-Modified"))
	require.Equal(t, first.header("X-Flagsmith-Document-Updated-At"), second.header("X-Flagsmith-Document-Updated-At"))
	require.Equal(t, 304, h.do("GET", uri, serverKey, "", "If-None-Match", second.header("ETag")).status)
	require.Equal(t, 200, h.do("GET", uri, serverKey, "", "If-Modified-Since", first.header("Last-Modified")).status, "the date is not of this page")

	h.overrideAll(f, 60, "w")
	require.Equal(t, second.body, h.do("GET", uri, serverKey, "").body)
	require.Equal(t, 403, h.do("GET", uri, clientKey, "").status)
}

func TestPagesThatAreNot(t *testing.T) {
	h, _ := crowdedHouse(t, 60, func(c *Config) { c.ReadBudget = 50 * time.Millisecond })
	epoch, index := h.FSM.State().Genesis.Epoch, h.FSM.State().Index
	page := func(id string) answer { return h.do("GET", "/api/v1/environment-document/?page_id="+id, serverKey, "") }
	for _, id := range []string{"x", "-1-2", epoch, epoch + "-1", epoch + "-x-2", epoch + "-5-0", epoch + "-5-1", epoch + "-5--2", "identity_override%3A1%3Ab"} {
		require.Equal(t, 400, page(id).status, id)
		require.JSONEq(t, `{"detail":"Invalid page_id."}`, page(id).body)
	}
	require.Equal(t, 410, page(fmt.Sprintf("zzzzzzzz-%d-2", index)).status, "of another life of the cluster")
	require.Equal(t, 410, page(epoch+"-1-2").status, "older than what is kept")
	require.Equal(t, 404, page(fmt.Sprintf("%s-%d-9", epoch, index)).status)
	late := page(fmt.Sprintf("%s-%d-2", epoch, index+1))
	require.Equal(t, 503, late.status, "this node has not got there in time")
	require.Equal(t, "1", late.header("Retry-After"))
}

func FuzzPageID(f *testing.F) {
	f.Add([]byte("abcdefgh-12-2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		id, ok := parsePageID(text)
		require.Equal(t, ok, ok && id.page >= 2 && len(id.epoch) > 0)
	})
}
