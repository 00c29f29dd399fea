package admin

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// organisationJSON is an organisation as the API shows it. There are no plans here: the subscription says what lets every client use
// everything (ADMIN §3, "plan limits").
type organisationJSON struct {
	ID                           uint64       `json:"id"`
	UUID                         uuid.UUID    `json:"uuid"`
	Name                         string       `json:"name"`
	CreatedDate                  fsm.Time     `json:"created_date"`
	WebhookNotificationEmail     *string      `json:"webhook_notification_email"`
	NumSeats                     int          `json:"num_seats"`
	Subscription                 subscription `json:"subscription"`
	Role                         *fsm.Role    `json:"role"`
	PersistTraitData             bool         `json:"persist_trait_data"`
	BlockAccessToAdmin           bool         `json:"block_access_to_admin"`
	RestrictProjectCreateToAdmin bool         `json:"restrict_project_create_to_admin"`
	Force2FA                     bool         `json:"force_2fa"`
}

type subscription struct {
	ID                      uint64    `json:"id"`
	HasActiveBillingPeriods bool      `json:"has_active_billing_periods"`
	DeletedAt               *string   `json:"deleted_at"`
	UUID                    uuid.UUID `json:"uuid"`
	SubscriptionID          *string   `json:"subscription_id"`
	SubscriptionDate        *string   `json:"subscription_date"`
	Plan                    string    `json:"plan"`
	MaxSeats                int       `json:"max_seats"`
	MaxAPICalls             int       `json:"max_api_calls"`
	CancellationDate        *string   `json:"cancellation_date"`
	CustomerID              *string   `json:"customer_id"`
	BillingStatus           *string   `json:"billing_status"`
	PaymentMethod           *string   `json:"payment_method"`
	Notes                   *string   `json:"notes"`
}

// What stands for "without limit" where clients expect a number, and the plan that makes the front end show all it has.
const (
	unlimitedPlan  = "enterprise"
	unlimitedSeats = 1_000_000
	unlimitedCalls = 1_000_000_000
)

type organisationRef struct {
	ID uint64 `path:"id"`
}

type organisationInput struct {
	Name                         route.Optional[string] `json:"name" v:"required,max=2000"`
	WebhookNotificationEmail     route.Optional[string] `json:"webhook_notification_email" v:"null,email,max=254"`
	RestrictProjectCreateToAdmin route.Optional[bool]   `json:"restrict_project_create_to_admin"`
	Force2FA                     route.Optional[bool]   `json:"force_2fa"`
}

func organisationRows() []route.Row {
	const list, detail = "/api/v1/organisations/", "/api/v1/organisations/{id}/"
	admin := OrganisationAdmin(Path("id"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "list_organizations", Tag: "Organisations", Summary: "List the caller's organisations.",
			Auth: route.Admin, Handler: read(listOrganisations)},
		{Method: "POST", Path: list, OperationID: "api_v1_organisations_create", Tag: "Organisations", Auth: route.Admin,
			Permission: Custom("user who may make organisations", mayCreateOrganisation), Kind: route.Write, Status: 201, Handler: write(createOrganisation)},
		{Method: "GET", Path: list + "get-by-uuid/{uuid}/", OperationID: "api_v1_organisations_get_by_uuid_retrieve", Tag: "Organisations",
			Auth: route.Admin, Handler: read(organisationByUUID)},
		{Method: "GET", Path: detail, OperationID: "api_v1_organisations_retrieve", Tag: "Organisations", Auth: route.Admin, Permission: admin,
			Handler: read(getOrganisation)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_organisations_update", Tag: "Organisations", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateOrganisation)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_organisations_partial_update", Tag: "Organisations", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Handler: write(updateOrganisation)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_organisations_destroy", Tag: "Organisations", Auth: route.Admin, Permission: admin,
			Kind: route.Write, Status: 204, Handler: write(deleteOrganisation)},
		{Method: "GET", Path: detail + "projects/", OperationID: "list_projects_in_organization", Tag: "Organisations", Auth: route.Admin,
			Permission: admin, Handler: read(organisationProjects)},
		{Method: "GET", Path: detail + "get-subscription-metadata/", OperationID: "api_v1_organisations_get_subscription_metadata_retrieve",
			Tag: "Organisations", Auth: route.Admin, Permission: admin, Handler: read(subscriptionMetadata)},
	}
}

// mayCreateOrganisation refuses keys, which have no user to become the organisation's ADMIN.
func mayCreateOrganisation(c *Ctx) error {
	u := c.Principal.User
	if u == nil || c.Env.Options.RestrictOrganisationCreateToSuperusers && !u.IsSuperuser {
		return route.PermissionDenied()
	}
	return nil
}

// ownOrganisations lists the organisations that the caller is in, by id.
func (c *Ctx) ownOrganisations() []fsm.Organisation {
	var own []fsm.Organisation
	add := func(id uint64) {
		if o, ok := fsm.Organisations.Get(c, id); ok {
			own = append(own, o)
		}
	}
	if c.Principal.Key != nil {
		add(c.Principal.Key.Organisation)
		return own
	}
	for m := range fsm.MembershipsByUser.Refs(c, c.Principal.UserID()) {
		add(m.Organisation)
	}
	return own
}

func listOrganisations(c *Ctx, _ struct{}) (route.Page[organisationJSON], error) {
	return paginate(c, c.ownOrganisations(), c.renderOrganisation)
}

func createOrganisation(c *Ctx, in organisationInput) (organisationJSON, error) {
	o := newOrganisation(c.Tx, "")
	in.apply(&o)
	fsm.Organisations.Put(c.Tx, o)
	addMember(c.Tx, o.ID, c.Principal.UserID(), fsm.RoleAdmin)
	out := c.renderOrganisation(o)
	out.Role = nil // so in the reference
	return out, nil
}

// newOrganisation stores an organisation with the defaults of new ones.
func newOrganisation(tx *fsm.Tx, name string) fsm.Organisation {
	return fsm.Organisations.Put(tx, fsm.Organisation{
		UUID: tx.NewUUID(), Name: name, CreatedDate: tx.Now(), PersistTraitData: true, SubscriptionUUID: tx.NewUUID(),
	})
}

func getOrganisation(c *Ctx, _ organisationRef) (organisationJSON, error) {
	return c.renderOrganisation(c.Organisation), nil
}

func organisationByUUID(c *Ctx, in struct {
	UUID uuid.UUID `path:"uuid"`
}) (organisationJSON, error) {
	o, ok := fsm.OrganisationsByUUID.First(c, in.UUID)
	if !ok || !c.IsMember(o.ID) {
		return organisationJSON{}, route.NotFound(fsm.Organisations.Name())
	}
	return c.renderOrganisation(o), nil
}

func updateOrganisation(c *Ctx, in organisationInput) (organisationJSON, error) {
	o := c.Organisation
	in.apply(&o)
	c.touchOrganisation(c.Organisation, o)
	return c.renderOrganisation(fsm.Organisations.Put(c.Tx, o)), nil
}

// touchOrganisation moves updated_at of all environments on if what the environment document shows of their organisation changed, or SDKs are
// answered again: whoever was refused when he fetched a change would hear of it with the next change only.
func (c *Ctx) touchOrganisation(before, after fsm.Organisation) {
	resumed := !before.Serves() && after.Serves()
	if before.Name == after.Name && before.PersistTraitData == after.PersistTraitData && !resumed {
		return
	}
	for p := range fsm.ProjectsByOrganisation.All(c, after.ID) {
		c.Tx.TouchProject(p.ID)
	}
}

func deleteOrganisation(c *Ctx, _ organisationRef) (route.Empty, error) {
	deleteOrganisationTree(c, c.Organisation.ID)
	return c.OK()
}

func organisationProjects(c *Ctx, _ organisationRef) ([]projectJSON, error) {
	return mapped(fsm.ProjectsByOrganisation.List(c, c.Organisation.ID), renderProject), nil
}

// metadataOfSubscription holds null where there is no limit.
type metadataOfSubscription struct {
	MaxSeats                     int     `json:"max_seats"`
	MaxAPICalls                  int     `json:"max_api_calls"`
	MaxProjects                  *int    `json:"max_projects"`
	PaymentSource                *string `json:"payment_source"`
	ChargebeeEmail               *string `json:"chargebee_email"`
	FeatureHistoryVisibilityDays *int    `json:"feature_history_visibility_days"`
	AuditLogVisibilityDays       *int    `json:"audit_log_visibility_days"`
}

func subscriptionMetadata(c *Ctx, _ organisationRef) (metadataOfSubscription, error) {
	o := c.Organisation
	out := metadataOfSubscription{MaxSeats: limitOr(o.MaxSeats, unlimitedSeats), MaxAPICalls: limitOr(o.MaxAPICalls, unlimitedCalls)}
	if o.MaxProjects != 0 {
		n := int(o.MaxProjects)
		out.MaxProjects = &n
	}
	return out, nil
}

// limitOr is a limit, or what stands for none.
func limitOr(limit uint64, none int) int {
	if limit == 0 {
		return none
	}
	return int(limit)
}

func (in organisationInput) apply(o *fsm.Organisation) {
	in.Name.Into(&o.Name)
	in.WebhookNotificationEmail.IntoPtr(&o.WebhookNotificationEmail)
	in.RestrictProjectCreateToAdmin.Into(&o.RestrictProjectCreateToAdmin)
	in.Force2FA.Into(&o.Force2FA)
}

func (c *Ctx) renderOrganisation(o fsm.Organisation) organisationJSON {
	out := organisationJSON{
		ID: o.ID, UUID: o.UUID, Name: o.Name, CreatedDate: o.CreatedDate, WebhookNotificationEmail: o.WebhookNotificationEmail,
		NumSeats: fsm.MembershipsByOrganisation.Count(c, o.ID),
		Subscription: subscription{ID: o.ID, UUID: o.SubscriptionUUID, Plan: unlimitedPlan, MaxSeats: limitOr(o.MaxSeats, unlimitedSeats),
			MaxAPICalls: limitOr(o.MaxAPICalls, unlimitedCalls)},
		PersistTraitData: o.PersistTraitData, BlockAccessToAdmin: o.BlockAccessToAdmin,
		RestrictProjectCreateToAdmin: o.RestrictProjectCreateToAdmin, Force2FA: o.Force2FA,
	}
	if role, ok := c.Role(o.ID); ok {
		out.Role = &role
	}
	return out
}
