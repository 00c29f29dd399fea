package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// environmentAPIKeyJSON is a server-side key.
type environmentAPIKeyJSON struct {
	ID        uint64   `json:"id"`
	Key       string   `json:"key"`
	Active    bool     `json:"active"`
	CreatedAt fsm.Time `json:"created_at"`
	Name      string   `json:"name"`
	ExpiresAt fsm.Time `json:"expires_at"`
}

type environmentAPIKeyInput struct {
	Name      route.Optional[string]   `json:"name" v:"required,max=100"`
	Active    route.Optional[bool]     `json:"active"`
	ExpiresAt route.Optional[fsm.Time] `json:"expires_at" v:"null"`
}

type environmentAPIKeyRef struct {
	ID uint64 `path:"id"`
}

type environmentAPIKeyUpdate struct {
	environmentAPIKeyRef
	environmentAPIKeyInput
}

func environmentAPIKeyRows() []route.Row {
	const list, detail = "/api/v1/environments/{environment_api_key}/api-keys/", "/api/v1/environments/{environment_api_key}/api-keys/{id}/"
	admin := EnvironmentAdmin(Path("environment_api_key"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_api_keys_list", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Handler: read(listEnvironmentAPIKeys)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_api_keys_create", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Status: 201, Handler: write(createEnvironmentAPIKey)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_api_keys_update", Tag: "Environments", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateEnvironmentAPIKey)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_api_keys_partial_update", Tag: "Environments", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Handler: write(updateEnvironmentAPIKey)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_api_keys_destroy", Tag: "Environments", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Status: 204, Handler: write(deleteEnvironmentAPIKey)},
	}
}

func listEnvironmentAPIKeys(c *Ctx, _ struct{}) ([]environmentAPIKeyJSON, error) {
	return mapped(fsm.EnvironmentAPIKeysByEnvironment.List(c, c.Environment.ID), renderEnvironmentAPIKey), nil
}

func createEnvironmentAPIKey(c *Ctx, in environmentAPIKeyInput) (environmentAPIKeyJSON, error) {
	k := fsm.EnvironmentAPIKey{Environment: c.Environment.ID, Key: credential.NewServerKey(), Active: true, CreatedAt: c.Now()}
	in.apply(&k)
	return renderEnvironmentAPIKey(fsm.EnvironmentAPIKeys.Put(c.Tx, k)), nil
}

func updateEnvironmentAPIKey(c *Ctx, in environmentAPIKeyUpdate) (environmentAPIKeyJSON, error) {
	k, err := findEnvironmentAPIKey(c, in.environmentAPIKeyRef)
	if err != nil {
		return environmentAPIKeyJSON{}, err
	}
	in.apply(&k)
	return renderEnvironmentAPIKey(fsm.EnvironmentAPIKeys.Put(c.Tx, k)), nil
}

func deleteEnvironmentAPIKey(c *Ctx, in environmentAPIKeyRef) (route.Empty, error) {
	k, err := findEnvironmentAPIKey(c, in)
	if err != nil {
		return c.fail(err)
	}
	fsm.EnvironmentAPIKeys.Delete(c.Tx, k.ID)
	return c.OK()
}

func findEnvironmentAPIKey(c *Ctx, in environmentAPIKeyRef) (fsm.EnvironmentAPIKey, error) {
	k, ok := fsm.EnvironmentAPIKeys.Get(c, in.ID)
	if !ok || k.Environment != c.Environment.ID {
		return k, route.NotFound(fsm.EnvironmentAPIKeys.Name())
	}
	return k, nil
}

func (in environmentAPIKeyInput) apply(k *fsm.EnvironmentAPIKey) {
	in.Name.Into(&k.Name)
	in.Active.Into(&k.Active)
	in.ExpiresAt.Into(&k.ExpiresAt)
}

func renderEnvironmentAPIKey(k fsm.EnvironmentAPIKey) environmentAPIKeyJSON {
	return environmentAPIKeyJSON{ID: k.ID, Key: k.Key, Active: k.Active, CreatedAt: k.CreatedAt, Name: k.Name, ExpiresAt: k.ExpiresAt}
}
