package admin

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// healthProvider is a monitoring system that reports on features, as the API shows it.
type healthProvider struct {
	CreatedBy  *string `json:"created_by"`
	Name       string  `json:"name"`
	Project    uint64  `json:"project"`
	WebhookURL string  `json:"webhook_url"`
}

// healthEvent is what a provider last said of a feature.
type healthEvent struct {
	ID           uint64        `json:"id"`
	CreatedAt    fsm.Time      `json:"created_at"`
	Environment  *uint64       `json:"environment"`
	Feature      uint64        `json:"feature"`
	ProviderName string        `json:"provider_name"`
	Reason       *healthReason `json:"reason"`
	Type         string        `json:"type"`
}

type healthReason struct {
	Texts []reasonText `json:"text_blocks"`
	Links []reasonLink `json:"url_blocks"`
}

type reasonText struct {
	Text  string  `json:"text"`
	Title *string `json:"title,omitempty"`
}

type reasonLink struct {
	URL   string  `json:"url"`
	Title *string `json:"title,omitempty"`
}

type healthEventRef struct {
	ID uint64 `path:"id"`
}

// healthGrafana is one kind of provider; the other is Webhook, which anybody can post to.
const healthGrafana = "Grafana"

// The tag that features with an unhealthy event have.
const (
	unhealthyTag    = "UNHEALTHY"
	unhealthyLabel  = "Unhealthy"
	unhealthyColour = "#FFC0CB"
)

func featureHealthRows() []route.Row {
	const providers, events = "/api/v1/projects/{project_pk}/feature-health/providers/", "/api/v1/projects/{project_pk}/feature-health/events/"
	view, admin := ProjectPermission("VIEW_PROJECT", Path("project_pk")), ProjectAdmin(Path("project_pk"))
	return []route.Row{
		{Method: "GET", Path: providers, OperationID: "api_v1_projects_feature_health_providers_list", Tag: "Feature health", Auth: route.Admin,
			Permission: view, Handler: read(listHealthProviders)},
		{Method: "POST", Path: providers, OperationID: "api_v1_projects_feature_health_providers_create", Tag: "Feature health", Auth: route.Admin,
			Permission: admin, Kind: route.Write, Status: 201, Handler: write(createHealthProvider)},
		{Method: "DELETE", Path: providers + "{name}/", OperationID: "api_v1_projects_feature_health_providers_destroy", Tag: "Feature health",
			Auth: route.Admin, Permission: admin, Kind: route.Write, Status: 204, Handler: write(deleteHealthProvider)},
		{Method: "GET", Path: events, OperationID: "get_feature_health_events", Tag: "Feature health", Auth: route.Admin, Permission: view,
			Summary: "List what providers last said of each feature.", Handler: read(listHealthEvents)},
		{Method: "POST", Path: events + "{id}/dismiss/", OperationID: "api_v1_projects_feature_health_events_dismiss_create", Tag: "Feature health",
			Auth: route.Admin, Permission: admin, Kind: route.Write, Status: 204, Handler: write(dismissHealthEvent)},
	}
}

func listHealthProviders(c *Ctx, _ struct{}) ([]healthProvider, error) {
	return mapped(fsm.FeatureHealthProvidersByProject.List(c, c.Project.ID), c.renderHealthProvider), nil
}

func createHealthProvider(c *Ctx, in struct {
	Name string `json:"name" v:"required,choice=Webhook|Grafana"`
}) (healthProvider, error) {
	if _, ok := c.healthProvider(in.Name); ok {
		return healthProvider{}, route.Field("name", "The project has this provider already.")
	}
	p := fsm.FeatureHealthProviders.Put(c.Tx, fsm.FeatureHealthProvider{UUID: c.Tx.NewUUID(), Project: c.Project.ID, Name: in.Name,
		CreatedBy: c.Principal.UserID()})
	c.auditHealth(0, p.ID, p.UUID, "Health provider "+p.Name+" set up for project "+c.Project.Name+".")
	return c.renderHealthProvider(p), nil
}

func deleteHealthProvider(c *Ctx, in struct {
	Name string `path:"name"`
}) (route.Empty, error) {
	p, ok := c.healthProvider(in.Name)
	if !ok {
		return c.fail(route.NotFound(fsm.FeatureHealthProviders.Name()))
	}
	fsm.FeatureHealthProviders.Delete(c.Tx, p.ID)
	c.auditHealth(0, p.ID, p.UUID, "Health provider "+p.Name+" removed from project "+c.Project.Name+".")
	return c.OK()
}

// healthProvider finds a provider of the project by name, ignoring case.
func (c *Ctx) healthProvider(name string) (fsm.FeatureHealthProvider, bool) {
	for p := range fsm.FeatureHealthProvidersByProject.Refs(c, c.Project.ID) {
		if strings.EqualFold(p.Name, name) {
			return *p, true
		}
	}
	return fsm.FeatureHealthProvider{}, false
}

func listHealthEvents(c *Ctx, _ struct{}) ([]healthEvent, error) {
	rows := fsm.FeatureHealthEventsByProject.List(c, c.Project.ID)
	slices.SortFunc(rows, func(a, b fsm.FeatureHealthEvent) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Environment-1, b.Environment-1), cmp.Compare(a.Feature, b.Feature),
			cmp.Compare(a.ExternalID, b.ExternalID), cmp.Compare(a.ID, b.ID)) // no environment comes last
	})
	return mapped(rows, renderHealthEvent), nil
}

// dismissHealthEvent answers an unhealthy event with a healthy one.
func dismissHealthEvent(c *Ctx, in healthEventRef) (route.Empty, error) {
	e, ok := fsm.FeatureHealthEvents.Get(c, in.ID)
	if !ok || e.Project != c.Project.ID {
		return c.fail(route.NotFound(fsm.FeatureHealthEvents.Name()))
	}
	if !e.Unhealthy {
		return c.OK()
	}
	e.Unhealthy, e.CreatedAt = false, max(c.Now(), e.CreatedAt)
	e.Reason = &fsm.HealthReason{Texts: []fsm.HealthBlock{{Text: "Dismissed by " + c.Principal.Author().Name + "."}}}
	putHealthEvent(c, e)
	return c.OK()
}

// maxHealthEvents bounds what is kept of one feature; the oldest events go.
const maxHealthEvents = 100

// putHealthEvent replaces what the provider said last of the same thing, unless that is newer, and tags the feature.
func putHealthEvent(c *Ctx, e fsm.FeatureHealthEvent) {
	e.ID = 0
	events := fsm.FeatureHealthEventsByFeature.List(c, e.Feature)
	for i, old := range events {
		if old.Provider != e.Provider || old.Environment != e.Environment || old.ExternalID != e.ExternalID {
			continue
		}
		if old.CreatedAt > e.CreatedAt {
			return
		}
		fsm.FeatureHealthEvents.Delete(c.Tx, old.ID)
		events = slices.Delete(events, i, i+1)
		break
	}
	if len(events) >= maxHealthEvents {
		oldest := slices.MinFunc(events, func(a, b fsm.FeatureHealthEvent) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
		fsm.FeatureHealthEvents.Delete(c.Tx, oldest.ID)
	}
	e = fsm.FeatureHealthEvents.Put(c.Tx, e)
	f, _ := fsm.Features.Get(c, e.Feature)
	text := "Health status changed to " + healthType(e) + " for feature " + f.Name
	if environment := fsm.Environments.Ref(c, e.Environment); environment != nil {
		text += " in environment " + environment.Name
	}
	c.auditHealth(e.Environment, e.ID, uuid.Nil, text+".")
	tagHealth(c, f)
}

// tagHealth gives the system tag to a feature that anybody calls unhealthy, and takes it from others.
func tagHealth(c *Ctx, f fsm.Feature) {
	unhealthy := false
	for e := range fsm.FeatureHealthEventsByFeature.Refs(c, f.ID) {
		unhealthy = unhealthy || e.Unhealthy
	}
	var tag fsm.Tag
	for t := range fsm.TagsByProject.Refs(c, f.Project) {
		if t.Type == unhealthyTag {
			tag = *t
		}
	}
	if tag.ID == 0 {
		tag = fsm.Tags.Put(c.Tx, fsm.Tag{UUID: c.Tx.NewUUID(), Project: f.Project, Label: unhealthyLabel, Color: unhealthyColour, IsSystemTag: true,
			Type: unhealthyTag})
	}
	switch i := slices.Index(f.Tags, tag.ID); {
	case unhealthy && i < 0:
		f.Tags = withIDs(f.Tags, []uint64{tag.ID})
	case !unhealthy && i >= 0:
		f.Tags = withoutIDs(f.Tags, []uint64{tag.ID})
	default:
		return
	}
	fsm.Features.Put(c.Tx, f)
}

func (c *Ctx) auditHealth(environment, id uint64, u uuid.UUID, text string) {
	c.Tx.Audit(fsm.AuditLog{Log: text, Project: c.Project.ID, Environment: environment, RelatedObjectType: fsm.AuditHealth, RelatedObjectID: id,
		RelatedObjectUUID: u})
}

// healthToken is the last part of the address that a provider posts to. Nobody can make one up: it is signed with the installation's seed.
func (c *Ctx) healthToken(provider uuid.UUID) string {
	mac := hmac.New(sha256.New, c.seed())
	mac.Write([]byte("feature health provider "))
	mac.Write(provider[:])
	return base64.RawURLEncoding.EncodeToString(append(provider[:], mac.Sum(nil)...))
}

// providerOfToken finds the provider that a token was made for.
func (c *Ctx) providerOfToken(token string) (p fsm.FeatureHealthProvider, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != len(p.UUID)+sha256.Size {
		return p, false
	}
	id := uuid.UUID(raw[:len(p.UUID)])
	if !hmac.Equal([]byte(token), []byte(c.healthToken(id))) {
		return p, false
	}
	return fsm.FeatureHealthProvidersByUUID.First(c, id)
}

func (c *Ctx) renderHealthProvider(p fsm.FeatureHealthProvider) healthProvider {
	out := healthProvider{Name: p.Name, Project: p.Project, WebhookURL: c.URL("/api/v1/feature-health/" + c.healthToken(p.UUID))}
	if u := fsm.Users.Ref(c, p.CreatedBy); u != nil {
		out.CreatedBy = &u.Email
	}
	return out
}

func healthType(e fsm.FeatureHealthEvent) string {
	if e.Unhealthy {
		return "UNHEALTHY"
	}
	return "HEALTHY"
}

func renderHealthEvent(e fsm.FeatureHealthEvent) healthEvent {
	out := healthEvent{ID: e.ID, CreatedAt: e.CreatedAt, Environment: idOrNull(e.Environment), Feature: e.Feature, ProviderName: e.Provider,
		Type: healthType(e)}
	if e.Reason != nil {
		out.Reason = &healthReason{
			Texts: mapped(e.Reason.Texts, func(b fsm.HealthBlock) reasonText { return reasonText{b.Text, b.Title} }),
			Links: mapped(e.Reason.Links, func(b fsm.HealthBlock) reasonLink { return reasonLink{b.Text, b.Title} }),
		}
	}
	return out
}
