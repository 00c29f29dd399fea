package sdk

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func TestFlagsShape(t *testing.T) {
	h := newHouse(t)
	a, as := h.feature(fsm.Feature{Name: "str_flag"}, true, str("héllo \"x\" 😀"))
	b, bs := h.feature(fsm.Feature{Name: "int_flag"}, false, integer(-42))
	c, cs := h.feature(fsm.Feature{Name: "null_flag"}, true, fsm.FeatureValue{Type: fsm.Unicode})
	r := h.get("flags/")
	require.Equal(t, 200, r.status)
	require.Equal(t, "["+strings.Join([]string{
		fmt.Sprintf(`{"id":%d,"feature":%s,"feature_state_value":"h\u00e9llo \"x\" \ud83d\ude00","environment":%d,"identity":null,"feature_segment":null,"enabled":true}`, as.ID, featureJSON(a), h.env.ID),
		fmt.Sprintf(`{"id":%d,"feature":%s,"feature_state_value":-42,"environment":%d,"identity":null,"feature_segment":null,"enabled":false}`, bs.ID, featureJSON(b), h.env.ID),
		fmt.Sprintf(`{"id":%d,"feature":%s,"feature_state_value":null,"environment":%d,"identity":null,"feature_segment":null,"enabled":true}`, cs.ID, featureJSON(c), h.env.ID),
	}, ",")+"]", r.body)
	require.Equal(t, "application/json", r.header("Content-Type"))
	require.Equal(t, "GET, HEAD, OPTIONS", r.header("Allow"))
	require.Equal(t, "1795262892.02651", r.header("X-Flagsmith-Document-Updated-At"))
	require.Equal(t, "no-cache, private", r.header("Cache-Control"))
	require.Equal(t, "X-Environment-Key, Accept-Encoding", r.header("Vary"))
	require.Regexp(t, `^[a-z2-7]{8}-\d+$`, r.header("Flagraft-Index"))
}

func TestFlagsEdgeShape(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Format = fsm.FormatEdge })
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("v"))
	item := fmt.Sprintf(`{"feature":{"id":%d,"name":"f","type":"STANDARD"},"enabled":true,"feature_state_value":"v"`, f.ID)
	require.Equal(t, "["+item+"}]", h.get("flags/").body)
	require.Equal(t, `{"identifier":"x","traits":[{"trait_key":"a","trait_value":1.5}],"flags":[`+item+`,"variant":null}]}`,
		h.post("identities/", `{"identifier":"x","traits":[{"trait_key":"a","trait_value":1.5}]}`).body)
}

func TestFlagsOfOneFeature(t *testing.T) {
	h := newHouse(t)
	_, state := h.feature(fsm.Feature{Name: "Str_Flag"}, true, str("v"))
	h.feature(fsm.Feature{Name: "secret", IsServerKeyOnly: true}, true, str("v"))
	r := h.get("flags/?feature=sTR_flag")
	require.Equal(t, 200, r.status)
	require.True(t, strings.HasPrefix(r.body, fmt.Sprintf(`{"id":%d,`, state.ID)), r.body)
	require.Empty(t, r.header("X-Flagsmith-Document-Updated-At"))
	require.True(t, strings.HasPrefix(h.get("flags/?feature=").body, fmt.Sprintf(`{"id":%d,`, state.ID)))
	for _, uri := range []string{"flags/?feature=nope", "flags/?feature=secret"} {
		r = h.get(uri)
		require.Equal(t, 404, r.status)
		require.Equal(t, `{"detail":"Given feature not found"}`, r.body)
	}
	require.Equal(t, 200, h.do("GET", "/api/v1/flags/?feature=secret", serverKey, "").status)
	require.Equal(t, 406, h.get("flags/", "Accept", "text/html").status)
}

// TestFlagsOfOneFeatureOfTwo: names that only differ in letters which fold alike are of two features.
func TestFlagsOfOneFeatureOfTwo(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "ſale"}, true, str("long"))
	h.feature(fsm.Feature{Name: "sale"}, true, str("short"))
	require.Contains(t, h.get("flags/?feature=SALE").body, `"short"`)
	require.Contains(t, h.get("flags/?feature=%C5%BFale").body, `"long"`)
}

func TestFlagsFilters(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "on", IsArchived: true}, true, str("v"))
	h.feature(fsm.Feature{Name: "off"}, false, str("v"))
	h.feature(fsm.Feature{Name: "secret", IsServerKeyOnly: true}, true, str("v"))
	names := func(key, path string) string {
		body := h.do("GET", "/api/v1/"+path, key, "").body
		var found []string
		for _, n := range []string{"on", "off", "secret"} {
			if strings.Contains(body, `"name":"`+n+`"`) {
				found = append(found, n)
			}
		}
		return strings.Join(found, " ")
	}
	for _, path := range []string{"flags/", "identities/?identifier=a"} {
		require.Equal(t, "on off", names(clientKey, path))
		require.Equal(t, "on off secret", names(serverKey, path))
	}
	h.Write(t, func(tx *fsm.Tx) error {
		h.proj.HideDisabledFlags = true
		fsm.Projects.Put(tx, h.proj)
		return nil
	})
	for _, path := range []string{"flags/", "identities/?identifier=a"} {
		require.Equal(t, "on", names(clientKey, path))
		require.Equal(t, "on secret", names(serverKey, path))
	}
	no := false
	h.set(func(e *fsm.Environment) { e.HideDisabledFlags = &no })
	require.Equal(t, "on off", names(clientKey, "flags/"))
}

func TestHideSensitiveData(t *testing.T) {
	h := newHouse(t)
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("v"))
	h.set(func(e *fsm.Environment) { e.HideSensitiveData = true })
	item := fmt.Sprintf(`{"id":null,"feature":{"id":%d,"name":"f","created_date":null,"description":null,"initial_value":null,"default_enabled":null,"type":"STANDARD"},"feature_state_value":"v","environment":null,"identity":null,"feature_segment":null,"enabled":true`, f.ID)
	require.Equal(t, "["+item+"}]", h.get("flags/").body)
	require.Equal(t, `{"identifier":"x","traits":[],"flags":[`+item+`,"variant":null}]}`,
		h.post("identities/", `{"identifier":"x","traits":[{"trait_key":"a","trait_value":1}]}`).body)
	sent := `[{"identity":{"identifier":"x"},"trait_value":2,"trait_key":"b"}]`
	require.Equal(t, sent, h.do("PUT", "/api/v1/traits/bulk/", clientKey, sent).body, "nothing of what was stored before")
	h.set(func(e *fsm.Environment) { e.HideSensitiveData = false })
	require.Contains(t, h.do("PUT", "/api/v1/traits/bulk/", clientKey, sent).body, `"trait_key":"a"`)
	require.Contains(t, h.get("flags/").body, `"created_date":"2026`)
}

func TestKeys(t *testing.T) {
	h := newHouse(t)
	h.Write(t, func(tx *fsm.Tx) error {
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: "ser.inactive", Name: "i"})
		fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: "ser.expired", Name: "e", Active: true, ExpiresAt: at})
		return nil
	})
	for _, c := range []struct{ key, path, detail string }{
		{"", "flags/", msgNoKey},
		{"nope", "flags/", msgUnknownKey},
		{"ser.unknown", "flags/", msgUnknownKey},
		{"ser.inactive", "flags/", msgUnusable},
		{"ser.expired", "flags/", msgUnusable},
		{"", "identities/?identifier=a", msgNoKey},
		{clientKey, "environment-document/", msgNoKey},
		{"ser.unknown", "environment-document/", msgUnknownKey},
	} {
		r := h.do("GET", "/api/v1/"+c.path, c.key, "")
		require.Equal(t, 403, r.status, c)
		require.Equal(t, `{"detail":"`+c.detail+`"}`, r.body)
	}
	h.Write(t, func(tx *fsm.Tx) error {
		h.org.StopServingFlags = true
		fsm.Organisations.Put(tx, h.org)
		return nil
	})
	r := h.get("flags/")
	require.Equal(t, 403, r.status)
	require.Equal(t, `{"detail":"Organisation is disabled from serving flags."}`, r.body)
}

func TestUnknownKeyOnANodeThatIsBehind(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Ready = func() bool { return false } })
	r := h.do("GET", "/api/v1/flags/", "nope", "")
	require.Equal(t, 503, r.status)
	require.Equal(t, "1", r.header("Retry-After"))
	require.Equal(t, 200, h.get("flags/").status)
}

func TestFlagsConditional(t *testing.T) {
	h := newHouse(t)
	for i := range 20 {
		h.feature(fsm.Feature{Name: fmt.Sprint("flag_", i)}, true, str("value"))
	}
	plain := h.get("flags/")
	tag := plain.header("ETag")
	require.NotEmpty(t, tag)
	r := h.get("flags/", "If-None-Match", tag)
	require.Equal(t, 304, r.status)
	require.Empty(t, r.body)

	packed := h.get("flags/", "Accept-Encoding", "br, gzip")
	require.Equal(t, "gzip", packed.header("Content-Encoding"))
	require.NotEqual(t, tag, packed.header("ETag"))
	z, err := gzip.NewReader(bytes.NewReader([]byte(packed.body)))
	require.NoError(t, err)
	unpacked, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, plain.body, string(unpacked))
	require.Equal(t, 304, h.get("flags/", "If-None-Match", packed.header("ETag")).status)
	require.Empty(t, h.get("flags/", "Accept-Encoding", "gzip;q=0").header("Content-Encoding"))

	h.feature(fsm.Feature{Name: "one more"}, true, str("v"))
	require.Equal(t, 200, h.get("flags/", "If-None-Match", tag).status)
}

func TestConsistencyHeaders(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.ReadBudget = 20 * time.Millisecond
		c.Node = "n1"
		c.Age = func() time.Duration { return 1500 * time.Millisecond }
	})
	r := h.get("flags/")
	token := r.header("Flagraft-Index")
	require.Equal(t, "1500", r.header("Flagraft-Age"))
	require.Equal(t, "n1", r.header("Flagraft-Node"))
	require.Equal(t, 200, h.get("flags/", "Flagraft-Min-Index", token).status)
	epoch, _, _ := strings.Cut(token, "-")
	r = h.get("flags/", "Flagraft-Min-Index", epoch+"-999999")
	require.Equal(t, 503, r.status)
	require.NotEmpty(t, r.header("Retry-After"))
	require.Equal(t, 200, h.get("flags/", "Flagraft-Min-Index", "another1-999999").status)
	require.Equal(t, 200, h.get("flags/", "Flagraft-Min-Index", "garbage").status)
	require.Equal(t, 503, h.get("flags/", "Flagraft-Consistency", "linearizable").status)
	require.Equal(t, 400, h.get("flags/", "Flagraft-Consistency", "magic").status)
}

// TestConsistencyOfKeys: the key may be as new as what a request asks to see, or out of use by then.
func TestConsistencyOfKeys(t *testing.T) {
	const added, later = "ser.added-by-another-node", "client-key-of-later"
	var elsewhere func(tx *fsm.Tx) // written by another node, and applied here while the read waits
	var h *house
	h = newHouse(t, func(c *Config) {
		c.ReadIndex = func(context.Context) (uint64, error) {
			return h.Write(t, func(tx *fsm.Tx) error { elsewhere(tx); return nil }).Index, nil
		}
	})
	linearizable := func(path, key string) int {
		return h.do("GET", path, key, "", "Flagraft-Consistency", "linearizable").status
	}
	var row fsm.EnvironmentAPIKey
	elsewhere = func(tx *fsm.Tx) {
		row = fsm.EnvironmentAPIKeys.Put(tx, fsm.EnvironmentAPIKey{Environment: h.env.ID, Key: added, Name: "added", Active: true})
	}
	require.Equal(t, 200, linearizable("/api/v1/environment-document/", added))
	elsewhere = func(tx *fsm.Tx) {
		row.Active = false
		fsm.EnvironmentAPIKeys.Put(tx, row)
	}
	require.Equal(t, 403, linearizable("/api/v1/environment-document/", added))
	elsewhere = func(tx *fsm.Tx) {
		fsm.Environments.Put(tx, fsm.Environment{Name: "Later", APIKey: later, Project: h.proj.ID, UpdatedAt: at, CreatedDate: at})
	}
	require.Equal(t, 200, linearizable("/api/v1/flags/", later))
	elsewhere = func(*fsm.Tx) {}
	require.Equal(t, 403, linearizable("/api/v1/flags/", "nobody's"))
}
