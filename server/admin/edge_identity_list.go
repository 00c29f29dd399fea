package admin

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// The list of edge identities is paged by key, in the byte order of identifiers, or of aliases where those are searched: every page is found
// in the store's ordered indexes, however many identities there are.

const maxEdgePage = 100

type edgeIdentityListInput struct {
	PageSize route.Optional[int64]  `query:"page_size" v:"min=1"`
	Key      string                 `query:"last_evaluated_key" v:"notrim"`
	Search   route.Optional[string] `query:"q" v:"notrim"`
}

type edgeIdentityPage struct {
	Results          []edgeIdentity `json:"results"`
	LastEvaluatedKey *string        `json:"last_evaluated_key"`
}

// edgeKey is the place behind the last identity of a page. Clients pass it on as they got it: base64 of this in JSON.
type edgeKey struct {
	CompositeKey      string    `json:"composite_key"`
	EnvironmentAPIKey string    `json:"environment_api_key"`
	Identifier        string    `json:"identifier,omitempty"`
	DashboardAlias    string    `json:"dashboard_alias,omitempty"`
	IdentityUUID      uuid.UUID `json:"identity_uuid"`
}

// edgeSearch is a parsed q: a prefix or, in double quotes, the whole of an identifier; behind "dashboard_alias:" of an alias.
type edgeSearch struct {
	term  string
	alias bool
	exact bool
}

func parseEdgeSearch(q string) (s edgeSearch) {
	s.term, s.alias = strings.CutPrefix(q, "dashboard_alias:")
	if s.alias {
		s.term = strings.ToLower(s.term)
	}
	if n := len(s.term); n > 1 && s.term[0] == '"' && s.term[n-1] == '"' {
		s.term, s.exact = s.term[1:n-1], true
	}
	return s
}

func listEdgeIdentities(c *Ctx, in edgeIdentityListInput) (edgeIdentityPage, error) {
	if in.Search.Set && in.Search.Value == "" {
		return edgeIdentityPage{}, route.Field("q", route.MsgBlank)
	}
	after, err := parseEdgeKey(in.Key)
	if err != nil {
		return edgeIdentityPage{}, err
	}
	search := parseEdgeSearch(in.Search.Value)
	size := int(min(in.PageSize.Or(maxEdgePage), maxEdgePage))
	records := search.find(c.Identities(), c.identities(), after, size+1)
	out := edgeIdentityPage{}
	if len(records) > size {
		records = records[:size]
		key := search.key(c.Environment.APIKey, &records[size-1])
		out.LastEvaluatedKey = &key
	}
	out.Results = mapped(records, renderEdgeIdentity)
	return out, nil
}

// find gives up to limit identities from behind a key on.
func (s edgeSearch) find(all *identity.Stores, store *identity.Store, after *edgeKey, limit int) []identity.Record {
	switch {
	case s.alias:
		return s.findAlias(all, store, after, limit)
	case !s.exact && after == nil:
		return store.Scan([]byte(s.term), nil, limit)
	case !s.exact:
		return store.Scan([]byte(s.term), []byte(after.Identifier), limit)
	case after != nil:
		return nil
	}
	if rec, ok := store.Lookup([]byte(s.term)); ok {
		return []identity.Record{rec}
	}
	return nil
}

func (s edgeSearch) findAlias(all *identity.Stores, store *identity.Store, after *edgeKey, limit int) []identity.Record {
	var records []identity.Record
	if after == nil {
		records = store.ScanAlias([]byte(s.term), nil, 0, limit)
	} else {
		id, _ := all.IDOf(identity.UUID(after.IdentityUUID))
		records = store.ScanAlias([]byte(s.term), []byte(after.DashboardAlias), id, limit)
	}
	if s.exact { // those come first
		for i := range records {
			if string(records[i].Alias()) != s.term {
				return records[:i]
			}
		}
	}
	return records
}

func (s edgeSearch) key(environment string, last *identity.Record) string {
	k := edgeKey{CompositeKey: environment + "_" + string(last.Identifier()), EnvironmentAPIKey: environment, IdentityUUID: uuid.UUID(last.UUID())}
	if s.alias {
		k.DashboardAlias = string(last.Alias())
	} else {
		k.Identifier = string(last.Identifier())
	}
	raw, _ := json.Marshal(k) // strings always encode
	return base64.StdEncoding.EncodeToString(raw)
}

func parseEdgeKey(text string) (*edgeKey, error) {
	if text == "" {
		return nil, nil
	}
	text = strings.NewReplacer("-", "+", "_", "/", " ", "+").Replace(text) // clients that forget to escape "+"
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	k := &edgeKey{}
	if err != nil || json.Unmarshal(raw, k) != nil {
		return nil, route.Field("last_evaluated_key", "Not a key of this list.")
	}
	return k, nil
}
