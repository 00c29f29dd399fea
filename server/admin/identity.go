package admin

import (
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// coreIdentity is an identity of an environment, as the integer-id face of the API shows it; edge_identity.go has the other face of the same
// store.
type coreIdentity struct {
	ID          uint64 `json:"id"`
	Identifier  string `json:"identifier"`
	Environment uint64 `json:"environment"`
}

type identityRef struct {
	ID uint64 `path:"id"`
}

type identityInput struct {
	Identifier route.Optional[string] `json:"identifier" v:"required,max=2000"`
}

type identityUpdate struct {
	identityRef
	identityInput
}

func identityRows() []route.Row {
	const list, detail = "/api/v1/environments/{environment_api_key}/identities/", "/api/v1/environments/{environment_api_key}/identities/{id}/"
	view := EnvironmentPermission("VIEW_IDENTITIES", Path("environment_api_key"))
	manage := EnvironmentPermission("MANAGE_IDENTITIES", Path("environment_api_key"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_identities_list", Tag: "Identities", Auth: route.Admin, Permission: view,
			Handler: read(listIdentities)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_identities_create", Tag: "Identities", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Status: 201, Handler: write(createIdentity).again(createdIdentity)},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_identities_retrieve", Tag: "Identities", Auth: route.Admin, Permission: view,
			Handler: read(getIdentity)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_identities_update", Tag: "Identities", Auth: route.Admin, Permission: manage,
			Kind: route.Write, Handler: write(updateIdentity)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_identities_partial_update", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Handler: write(updateIdentity)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_identities_destroy", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 204, Handler: write(deleteIdentity)},
	}
}

func listIdentities(c *Ctx, in struct {
	Query string `query:"q" v:"notrim"`
}) (route.SizedPage[coreIdentity], error) {
	records, p, total, err := pageOfIdentities(c, in.Query)
	if err != nil {
		return route.SizedPage[coreIdentity]{}, err
	}
	return route.SizedPage[coreIdentity](route.Envelope(c.Call, p, total, mapped(records, c.renderIdentity))), nil
}

// pageOfIdentities finds one page in the order of creation without touching the identities before and after it. A query in double quotes
// is an exact identifier; any other is a part of it, whatever the case, and reads every identifier once.
func pageOfIdentities(c *Ctx, query string) (records []identity.Record, p route.PageSpec, total int, err error) {
	store := c.identities()
	switch {
	case query == "":
		total = store.Count()
		if p, err = route.ReadPage(c.Call, total, true); err == nil {
			records = store.Page(p.Offset, p.Limit)
		}
		return records, p, total, err
	case len(query) > 1 && query[0] == '"' && query[len(query)-1] == '"':
		if rec, ok := store.Lookup([]byte(strings.ReplaceAll(query, `"`, ""))); ok {
			records = append(records, rec)
		}
		p, err = route.ReadPage(c.Call, len(records), true)
		return records, p, len(records), err
	}
	guess := guessOffset(c)
	records, total = store.Contains(query, guess, route.MaxPageSize)
	p, err = route.ReadPage(c.Call, total, true)
	if err == nil && p.Offset != guess {
		records, total = store.Contains(query, p.Offset, p.Limit)
	}
	return records[:min(len(records), p.Limit)], p, total, err
}

// guessOffset is where the requested page starts if it exists: the number of matches is known only after the search.
func guessOffset(c *Ctx) int {
	page, _ := strconv.Atoi(c.Query().Get("page"))
	size, err := strconv.Atoi(c.Query().Get("page_size"))
	if err != nil || size < 1 || size > route.MaxPageSize {
		size = route.MaxPageSize
	}
	if page < 1 || page > 1_000_000_000 {
		return 0
	}
	return (page - 1) * size
}

func createIdentity(c *Ctx, in identityInput) (*coreIdentity, error) {
	name := in.Identifier.Value
	if _, taken := c.identities().Lookup([]byte(name)); taken {
		return nil, identifierTaken(name)
	}
	out := &coreIdentity{Identifier: name, Environment: c.Environment.ID}
	c.Identity(identity.Op{Kind: identity.KindCreate, Environment: c.Environment.ID, Identifier: []byte(name)}, func(r identity.Result) {
		out.ID = r.Identity
		c.refuseLate(r, identifierTaken(name))
	})
	return out, nil
}

func createdIdentity(c *Ctx, in identityInput) (*coreIdentity, error) {
	rec, ok := c.identities().Lookup([]byte(in.Identifier.Value))
	if !ok {
		return nil, route.NotFound("Identity")
	}
	out := c.renderIdentity(rec)
	return &out, nil
}

func getIdentity(c *Ctx, in identityRef) (coreIdentity, error) {
	rec, err := findIdentity(c, in.ID)
	if err != nil {
		return coreIdentity{}, err
	}
	return c.renderIdentity(rec), nil
}

// updateIdentity renames. The reference compares the new identifier with the identity itself too, so keeping it is an error.
func updateIdentity(c *Ctx, in identityUpdate) (coreIdentity, error) {
	rec, err := findIdentity(c, in.ID)
	if err != nil || !in.Identifier.Set {
		return c.renderIdentity(rec), err
	}
	name := in.Identifier.Value
	if _, taken := c.identities().Lookup([]byte(name)); taken {
		return coreIdentity{}, identifierTaken(name)
	}
	c.Identity(identity.Op{Kind: identity.KindRename, Environment: c.Environment.ID, Identity: rec.ID(), NewIdentifier: []byte(name)},
		func(r identity.Result) { c.refuseLate(r, identifierTaken(name)) })
	if _, overridden := fsm.FeatureStatesByIdentity.First(c, rec.ID()); overridden {
		c.Tx.TouchEnvironment(c.Environment.ID) // the environment document names it
	}
	return coreIdentity{ID: rec.ID(), Identifier: name, Environment: c.Environment.ID}, nil
}

// deleteIdentity removes the identity with its overrides, without audit rows, as the reference.
func deleteIdentity(c *Ctx, in identityRef) (route.Empty, error) {
	rec, err := findIdentity(c, in.ID)
	if err != nil {
		return c.fail(err)
	}
	overrides := fsm.FeatureStatesByIdentity.List(c, rec.ID())
	for _, s := range overrides {
		fsm.FeatureStates.Delete(c.Tx, s.ID)
	}
	if len(overrides) > 0 {
		c.Tx.TouchEnvironment(c.Environment.ID)
	}
	c.Identity(identity.Op{Kind: identity.KindDelete, Environment: c.Environment.ID, Identity: rec.ID()}, nil)
	return c.OK()
}

// identities is the identity store of c.Environment; nil, which is an empty one, before its first identity.
func (c *Ctx) identities() *identity.Store { return c.Identities().Environment(c.Environment.ID) }

// findIdentity gets an identity of the environment in the path.
func findIdentity(c *Ctx, id uint64) (identity.Record, error) {
	rec, ok := c.identities().ByID(id)
	if !ok {
		return rec, route.NotFound("Identity")
	}
	return rec, nil
}

func (c *Ctx) renderIdentity(rec identity.Record) coreIdentity {
	return coreIdentity{ID: rec.ID(), Identifier: string(rec.Identifier()), Environment: c.Environment.ID}
}

// identifierTaken is the refusal of the integer-id face: a text where others have a list.
func identifierTaken(name string) error {
	return route.FieldText("identifier", "Identity with identifier '"+name+"' already exists in this environment")
}

// refuseLate turns the outcome of an identity operation into the answer, when it is none of success; taken is the refusal for what exists
// already. The transaction has checked what it can: this is for what SDK traffic did meanwhile.
func (c *Ctx) refuseLate(r identity.Result, taken error) {
	switch r.Status {
	case identity.StatusOK:
	case identity.StatusExists:
		c.RefuseLate(taken)
	case identity.StatusMissing:
		c.RefuseLate(route.NotFound("Identity"))
	default:
		c.RefuseLate(identityRefused(r.Status))
	}
}

// identityRefused is the answer to an identity operation that passes a cap, or that met another state than it was meant for.
func identityRefused(s identity.Status) error {
	switch s {
	case identity.StatusOverIdentities:
		return route.BadRequest("The environment has reached the maximum allowed identities limit.")
	case identity.StatusOverTraits:
		return route.BadRequest("The identity has reached the maximum allowed size of its traits.")
	case identity.StatusOverKeys:
		return route.BadRequest("The environment has reached the maximum allowed distinct trait keys limit.")
	}
	return route.Conflict("The identity changed meanwhile; nothing was written.")
}
