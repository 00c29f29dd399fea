package admin

import (
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

type traitKeys struct {
	Keys []string `json:"keys"`
}

func environmentTraitRows() []route.Row {
	const detail = "/api/v1/environments/{api_key}/"
	return []route.Row{
		{Method: "GET", Path: detail + "trait-keys/", OperationID: "api_v1_environments_trait_keys_retrieve", Tag: "Environments", Auth: route.Admin,
			Permission: EnvironmentPermission("VIEW_ENVIRONMENT", Path("api_key")).Missing404(), Handler: read(listTraitKeys)},
		{Method: "POST", Path: detail + "delete-traits/", OperationID: "api_v1_environments_delete_traits_create", Tag: "Environments",
			Auth: route.Admin, Permission: EnvironmentAdmin(Path("api_key")).Missing404(), Kind: route.Write, Handler: write(deleteTraits)},
	}
}

func listTraitKeys(c *Ctx, _ environmentRef) (traitKeys, error) {
	return traitKeys{Keys: c.Identities().Environment(c.Environment.ID).TraitKeys()}, nil
}

// deleteTraits removes a trait from every identity of the environment.
func deleteTraits(c *Ctx, in struct {
	environmentRef
	Key route.Value `json:"key"`
}) (route.Empty, error) {
	key, ok := in.Key.Str()
	if !ok || key == "" || route.TextFault(key) != "" {
		return c.fail(route.BadRequest("Couldn't delete trait keys."))
	}
	c.Identity(identity.Op{Kind: identity.KindDeleteTraitKey, Environment: c.Environment.ID, Key: []byte(key)}, nil)
	return c.OK()
}
