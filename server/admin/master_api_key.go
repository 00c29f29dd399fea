package admin

import (
	"encoding/hex"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

// masterAPIKeyJSON is an organisation key; its secret is shown in the answer that creates it and never again.
type masterAPIKeyJSON struct {
	ID         string   `json:"id"`
	Prefix     string   `json:"prefix"`
	Created    fsm.Time `json:"created"`
	Name       string   `json:"name"`
	Revoked    bool     `json:"revoked"`
	ExpiryDate fsm.Time `json:"expiry_date"`
	Key        string   `json:"key,omitempty"`
	IsAdmin    bool     `json:"is_admin"`
	HasExpired bool     `json:"has_expired"`
	CreatedBy  *uint64  `json:"created_by"`
}

type masterAPIKeyInput struct {
	Name       route.Optional[string]   `json:"name" v:"required,max=50"`
	ExpiryDate route.Optional[fsm.Time] `json:"expiry_date" v:"null"`
	Revoked    route.Optional[bool]     `json:"revoked"`
	IsAdmin    route.Optional[bool]     `json:"is_admin"`
}

// Validate refuses keys with fewer rights: they need roles, which there are none of.
func (in *masterAPIKeyInput) Validate(e *route.Errors) {
	if in.IsAdmin.Set && !in.IsAdmin.Value {
		e.Add("is_admin", "RBAC is not installed, cannot create non-admin key")
	}
}

type masterAPIKeyRef struct {
	Prefix string `path:"prefix"`
}

type masterAPIKeyUpdate struct {
	masterAPIKeyRef
	masterAPIKeyInput
}

func masterAPIKeyRows() []route.Row {
	const list, detail = "/api/v1/organisations/{organisation_pk}/master-api-keys/", "/api/v1/organisations/{organisation_pk}/master-api-keys/{prefix}/"
	admin := OrganisationAdmin(Path("organisation_pk"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_organisations_master_api_keys_list", Tag: "Organisations", Auth: route.User, Permission: admin,
			Handler: read(listMasterAPIKeys)},
		{Method: "POST", Path: list, OperationID: "api_v1_organisations_master_api_keys_create", Tag: "Organisations", Auth: route.User, Permission: admin,
			Kind: route.Write, Status: 201, Handler: write(createMasterAPIKey)},
		{Method: "GET", Path: detail, OperationID: "api_v1_organisations_master_api_keys_retrieve", Tag: "Organisations", Auth: route.User, Permission: admin,
			Handler: read(getMasterAPIKey)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_organisations_master_api_keys_update", Tag: "Organisations", Auth: route.User, Permission: admin,
			Kind: route.Write, Handler: write(updateMasterAPIKey)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_organisations_master_api_keys_partial_update", Tag: "Organisations", Auth: route.User,
			Permission: admin, Kind: route.Write, Handler: write(updateMasterAPIKey)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_organisations_master_api_keys_destroy", Tag: "Organisations", Auth: route.User,
			Permission: admin, Kind: route.Write, Status: 204, Handler: write(deleteMasterAPIKey)},
	}
}

func listMasterAPIKeys(c *Ctx, _ struct{}) (route.Page[masterAPIKeyJSON], error) {
	keys := slices.DeleteFunc(fsm.MasterAPIKeysByOrganisation.List(c, c.Organisation.ID), func(k fsm.MasterAPIKey) bool { return k.Revoked })
	slices.Reverse(keys) // newest first
	return paginate(c, keys, c.renderMasterAPIKey)
}

func createMasterAPIKey(c *Ctx, in masterAPIKeyInput) (masterAPIKeyJSON, error) {
	key, prefix, hash := credential.NewMasterKey()
	k := fsm.MasterAPIKey{Organisation: c.Organisation.ID, Prefix: prefix, Hash: hash, Created: c.Now(), IsAdmin: true, CreatedBy: c.Principal.UserID()}
	in.apply(&k)
	out := c.renderMasterAPIKey(fsm.MasterAPIKeys.Put(c.Tx, k))
	out.Key = key
	return out, nil
}

func getMasterAPIKey(c *Ctx, in masterAPIKeyRef) (masterAPIKeyJSON, error) {
	k, err := findMasterAPIKey(c, in)
	return c.renderMasterAPIKey(k), err
}

func updateMasterAPIKey(c *Ctx, in masterAPIKeyUpdate) (masterAPIKeyJSON, error) {
	k, err := findMasterAPIKey(c, in.masterAPIKeyRef)
	if err != nil {
		return masterAPIKeyJSON{}, err
	}
	in.apply(&k)
	return c.renderMasterAPIKey(fsm.MasterAPIKeys.Put(c.Tx, k)), nil
}

func deleteMasterAPIKey(c *Ctx, in masterAPIKeyRef) (route.Empty, error) {
	k, err := findMasterAPIKey(c, in)
	if err != nil {
		return c.fail(err)
	}
	fsm.MasterAPIKeys.Delete(c.Tx, k.ID)
	return c.OK()
}

// findMasterAPIKey gets a key of the organisation in the path; a revoked one is gone.
func findMasterAPIKey(c *Ctx, in masterAPIKeyRef) (fsm.MasterAPIKey, error) {
	for k := range fsm.MasterAPIKeysByPrefix.All(c, in.Prefix) {
		if k.Organisation == c.Organisation.ID && !k.Revoked {
			return k, nil
		}
	}
	return fsm.MasterAPIKey{}, route.NotFound(fsm.MasterAPIKeys.Name())
}

func (in masterAPIKeyInput) apply(k *fsm.MasterAPIKey) {
	in.Name.Into(&k.Name)
	in.ExpiryDate.Into(&k.ExpiryDate)
	in.Revoked.Into(&k.Revoked)
}

func (c *Ctx) renderMasterAPIKey(k fsm.MasterAPIKey) masterAPIKeyJSON {
	return masterAPIKeyJSON{ID: k.Prefix + "." + hex.EncodeToString(k.Hash[:]), Prefix: k.Prefix, Created: k.Created, Name: k.Name, Revoked: k.Revoked,
		ExpiryDate: k.ExpiryDate, IsAdmin: k.IsAdmin, HasExpired: !k.ExpiryDate.IsZero() && k.ExpiryDate <= c.Wall(),
		CreatedBy: c.userOrNull(k.CreatedBy)}
}
