package admin

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// edgeIdentity is an identity as the uuid face of the API shows it. Every project has both faces, over one store.
type edgeIdentity struct {
	UUID           uuid.UUID `json:"identity_uuid"`
	Identifier     string    `json:"identifier"`
	DashboardAlias *string   `json:"dashboard_alias"`
}

type edgeIdentityRef struct {
	UUID uuid.UUID `path:"identity_uuid"`
}

type edgeIdentityInput struct {
	Identifier     string                 `json:"identifier" v:"required,max=2000"`
	DashboardAlias route.Optional[string] `json:"dashboard_alias" v:"max=100"`
}

type edgeIdentityUpdate struct {
	edgeIdentityRef
	DashboardAlias route.Optional[string] `json:"dashboard_alias" v:"max=100"`
}

// edgeTrait is a trait with its value in its own JSON type.
type edgeTrait struct {
	Key   string       `json:"trait_key"`
	Value route.Scalar `json:"trait_value"`
}

type edgeTraitInput struct {
	edgeIdentityRef
	Key   string       `json:"trait_key" v:"required,max=200"`
	Value route.Scalar `json:"trait_value" v:"required"`
}

func edgeIdentityRows() []route.Row {
	const list, detail = "/api/v1/environments/{environment_api_key}/edge-identities/", "/api/v1/environments/{environment_api_key}/edge-identities/{identity_uuid}/"
	view := EnvironmentPermission("VIEW_IDENTITIES", Path("environment_api_key")).Missing404()
	manage := EnvironmentPermission("MANAGE_IDENTITIES", Path("environment_api_key")).Missing404()
	admin := EnvironmentAdmin(Path("environment_api_key")).Missing404()
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_edge_identities_list", Tag: "Identities", Auth: route.Admin, Permission: view,
			Handler: read(listEdgeIdentities)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_edge_identities_create", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 201, Handler: write(createEdgeIdentity).again(createdEdgeIdentity)},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_edge_identities_retrieve", Tag: "Identities", Auth: route.Admin,
			Permission: view, Handler: read(getEdgeIdentity)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_edge_identities_update", Tag: "Identities", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Handler: write(updateEdgeIdentity)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_edge_identities_partial_update", Tag: "Identities", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Handler: write(updateEdgeIdentity)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_edge_identities_destroy", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 204, Handler: write(deleteEdgeIdentity)},
		{Method: "GET", Path: detail + "list-traits/", OperationID: "api_v1_environments_edge_identities_list_traits_list", Tag: "Identities",
			Auth: route.Admin, Permission: view, Handler: read(listEdgeTraits)},
		{Method: "PUT", Path: detail + "update-traits/", OperationID: "api_v1_environments_edge_identities_update_traits_update", Tag: "Identities",
			Auth: route.Admin, Permission: withObjectBody(manage), Kind: route.Write, Handler: write(updateEdgeTrait)},
	}
}

func createEdgeIdentity(c *Ctx, in edgeIdentityInput) (*edgeIdentity, error) {
	taken := route.BareArray("Identity with identifier: " + in.Identifier + " already exists")
	if _, exists := c.identities().Lookup([]byte(in.Identifier)); exists {
		return nil, taken
	}
	out := &edgeIdentity{Identifier: in.Identifier}
	op := identity.Op{Kind: identity.KindCreate, Environment: c.Environment.ID, Identifier: []byte(in.Identifier)}
	if in.DashboardAlias.Set {
		alias := strings.ToLower(in.DashboardAlias.Value)
		out.DashboardAlias, op.Alias = &alias, []byte(alias)
	}
	ids := c.Identities()
	c.Identity(op, func(r identity.Result) {
		out.UUID = uuid.UUID(ids.UUIDOf(r.Identity))
		c.refuseLate(r, taken)
	})
	return out, nil
}

func createdEdgeIdentity(c *Ctx, in edgeIdentityInput) (*edgeIdentity, error) {
	rec, ok := c.identities().Lookup([]byte(in.Identifier))
	if !ok {
		return nil, route.NotFound("EdgeIdentity")
	}
	out := renderEdgeIdentity(rec)
	return &out, nil
}

func getEdgeIdentity(c *Ctx, in edgeIdentityRef) (edgeIdentity, error) {
	rec, err := findEdgeIdentity(c, in.UUID)
	if err != nil {
		return edgeIdentity{}, err
	}
	return renderEdgeIdentity(rec), nil
}

// updateEdgeIdentity sets the dashboard alias; it cannot be cleared, and nothing else can be changed here.
func updateEdgeIdentity(c *Ctx, in edgeIdentityUpdate) (edgeIdentity, error) {
	rec, err := findEdgeIdentity(c, in.UUID)
	if err != nil {
		return edgeIdentity{}, err
	}
	out := renderEdgeIdentity(rec)
	if in.DashboardAlias.Set {
		alias := strings.ToLower(in.DashboardAlias.Value)
		out.DashboardAlias = &alias
		c.Identity(identity.Op{Kind: identity.KindSetAlias, Environment: c.Environment.ID, Identity: rec.ID(), Alias: []byte(alias)},
			func(r identity.Result) { c.refuseLate(r, nil) })
		if _, overridden := fsm.FeatureStatesByIdentity.First(c, rec.ID()); overridden && alias != string(rec.Alias()) {
			c.Tx.TouchEnvironment(c.Environment.ID) // the environment document shows it
		}
	}
	return out, nil
}

// deleteEdgeIdentity removes the identity with its overrides, each of which is booked.
func deleteEdgeIdentity(c *Ctx, in edgeIdentityRef) (route.Empty, error) {
	rec, err := findEdgeIdentity(c, in.UUID)
	if err != nil {
		return c.fail(err)
	}
	for _, s := range fsm.FeatureStatesByIdentity.List(c, rec.ID()) {
		deleteEdgeOverride(c, &rec, s)
	}
	c.Identity(identity.Op{Kind: identity.KindDelete, Environment: c.Environment.ID, Identity: rec.ID()}, nil)
	return c.OK()
}

func listEdgeTraits(c *Ctx, in edgeIdentityRef) ([]edgeTrait, error) {
	rec, err := findEdgeIdentity(c, in.UUID)
	if err != nil {
		return nil, err
	}
	traits := []edgeTrait{}
	for it := rec.Traits(); it.Next(); {
		traits = append(traits, edgeTrait{Key: it.Key(), Value: scalarOfLiteral(it.Value())})
	}
	return traits, nil
}

// updateEdgeTrait sets one trait; null removes it.
func updateEdgeTrait(c *Ctx, in edgeTraitInput) (edgeTrait, error) {
	rec, err := findEdgeIdentity(c, in.UUID)
	if err != nil {
		return edgeTrait{}, err
	}
	if c.mayPersistTraits() != nil {
		return edgeTrait{}, route.BadRequest("A server error occurred.") // the reference's words
	}
	if in.Value.Kind() == route.String && utf8.RuneCountInString(in.Value.Text()) > 2000 {
		return edgeTrait{}, route.Field("trait_value", "Value string is too long. Must be less than 2000 character")
	}
	literal, err := identity.CanonicalValue([]byte(normalised(in.Value).Literal()))
	if err != nil {
		return edgeTrait{}, route.Field("trait_value", route.MsgString)
	}
	if stored, _, ok := rec.Trait(in.Key); ok != in.Value.IsNull() && bytes.Equal(stored, literal) || !ok && in.Value.IsNull() {
		return edgeTrait{Key: in.Key, Value: scalarOfLiteral(literal)}, nil // nothing changes
	}
	c.Identity(identity.Op{Kind: identity.KindSetTrait, Environment: c.Environment.ID, Identity: rec.ID(), Key: []byte(in.Key), Value: literal},
		func(r identity.Result) { c.refuseLate(r, nil) })
	return edgeTrait{Key: in.Key, Value: scalarOfLiteral(literal)}, nil
}

var (
	integerText = regexp.MustCompile(`^-?[0-9]+$`)
	decimalText = regexp.MustCompile(`^-?[0-9]+\.[0-9]+$`)
)

// normalised makes a number of a text that is one: "007" is 7, "1.50" is 1.5 (IDENTITIES §2.2). Other values stay.
func normalised(s route.Scalar) route.Scalar {
	if s.Kind() != route.String {
		return s
	}
	text := s.Text()
	switch {
	case integerText.MatchString(text):
		digits := strings.TrimLeft(strings.TrimPrefix(text, "-"), "0")
		if digits == "" {
			return route.IntScalar(0)
		}
		if text[0] == '-' {
			digits = "-" + digits
		}
		return route.ScalarOf(route.Value{Kind: route.Int, Text: digits})
	case decimalText.MatchString(text):
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return route.FloatScalar(f)
		}
	}
	return s
}

// scalarOfLiteral reads a stored trait value.
func scalarOfLiteral(literal []byte) route.Scalar {
	switch identity.KindOfValue(literal) {
	case identity.KindOfString:
		return route.StringScalar(string(identity.AppendUnquoted(nil, literal)))
	case identity.KindOfInt:
		return route.ScalarOf(route.Value{Kind: route.Int, Text: string(literal)})
	case identity.KindOfFloat:
		return route.ScalarOf(route.Value{Kind: route.Float, Text: string(literal)})
	case identity.KindOfBool:
		return route.BoolScalar(string(literal) == "true")
	}
	return route.Scalar{}
}

// withObjectBody refuses bodies that are no objects in this face's own words.
func withObjectBody(p route.Permission) route.Permission {
	return Custom(p.Name(), func(c *Ctx) error {
		if err := p.Check(c.Call); err != nil {
			return err
		}
		if body, err := c.Body(); err == nil && body.Kind != route.Object {
			return route.BadRequest("Request data must be a JSON object.")
		}
		return nil
	})
}

// findEdgeIdentity gets an identity of the environment in the path.
func findEdgeIdentity(c *Ctx, u uuid.UUID) (identity.Record, error) {
	rec, ok := c.identities().ByUUID(identity.UUID(u))
	if !ok {
		return rec, route.NotFoundDetail()
	}
	return rec, nil
}

func renderEdgeIdentity(rec identity.Record) edgeIdentity {
	out := edgeIdentity{UUID: uuid.UUID(rec.UUID()), Identifier: string(rec.Identifier())}
	if len(rec.Alias()) > 0 {
		alias := string(rec.Alias())
		out.DashboardAlias = &alias
	}
	return out
}
