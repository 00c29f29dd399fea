package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// What the two kinds of provider post. A post that cannot be read, or names no feature of the project, is answered with 400 and without a
// body, as in the reference.

// webhookPost is what a provider of kind Webhook posts.
type webhookPost struct {
	Environment string      `json:"environment"`
	Feature     string      `json:"feature"`
	Status      string      `json:"status"` // healthy, unhealthy
	Reason      *postReason `json:"reason"`
}

type postReason struct {
	Texts []postBlock `json:"text_blocks"`
	Links []postBlock `json:"url_blocks"`
}

type postBlock struct {
	Title *string `json:"title"`
	Text  string  `json:"text"`
	URL   string  `json:"url"`
}

// grafanaPost is what Grafana's webhook contact point posts; Prometheus' Alertmanager posts the same without dashboards.
type grafanaPost struct {
	Alerts []grafanaAlert `json:"alerts"`
}

type grafanaAlert struct {
	Annotations  map[string]string `json:"annotations"`
	Labels       map[string]string `json:"labels"`
	Status       string            `json:"status"` // firing, resolved
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	Fingerprint  string            `json:"fingerprint"`
	GeneratorURL string            `json:"generatorURL"`
	DashboardURL string            `json:"dashboardURL"`
	PanelURL     string            `json:"panelURL"`
}

// The labels by which an alert names its feature and environment.
const (
	grafanaFeature     = "flagsmith_feature"
	grafanaEnvironment = "flagsmith_environment"
)

// healthReport is one event of a post.
type healthReport struct {
	feature, environment, id string
	unhealthy                bool
	at                       time.Time // zero: now
	reason                   *fsm.HealthReason
}

// Bounds of what is kept of a report.
const (
	maxHealthBlocks = 20
	maxHealthText   = 2000
)

var errHealthPost = errors.New("no health report")

func featureHealthHookRows() []route.Row {
	return []route.Row{{
		Method: "POST", Path: "/api/v1/feature-health/{path}", OperationID: "api_v1_feature_health_create", Tag: "Feature health",
		Summary: "Take a report of a provider, at the address that the list of providers shows.", Auth: route.None,
		Permission: Custom("address of a provider", healthAddress), Bare: []int{400, 404}, Kind: route.Write, Handler: write(reportHealth),
	}}
}

// healthAddress finds the project of the provider that the address was made for.
func healthAddress(c *Ctx) error {
	p, ok := c.providerOfToken(c.Param("path"))
	if ok {
		c.Project, ok = fsm.Projects.Get(c, p.Project)
	}
	if !ok {
		return &route.Error{Status: 404}
	}
	return nil
}

func reportHealth(c *Ctx, in struct {
	Path string `path:"path"`
}) (route.Empty, error) {
	p, _ := c.providerOfToken(in.Path)
	reports, err := readHealthPost(p.Name, c.Request.Body)
	if err != nil {
		return c.fail(&route.Error{Status: 400})
	}
	known := false
	for _, r := range reports {
		if f, ok := fsm.FeaturesByName.First(c, p.Project, strings.ToLower(r.feature)); ok && f.Name == r.feature {
			known = true
			putHealthEvent(c, r.event(c, p, f))
		}
	}
	if !known {
		return c.fail(&route.Error{Status: 400})
	}
	return c.OK()
}

// event makes the row. An environment that is not there makes the report one about all of them, as in the reference. Nothing is newer than
// now, or it could not be followed by anything.
func (r healthReport) event(c *Ctx, p fsm.FeatureHealthProvider, f fsm.Feature) fsm.FeatureHealthEvent {
	e := fsm.FeatureHealthEvent{Project: p.Project, Feature: f.ID, Provider: p.Name, ExternalID: r.id, Unhealthy: r.unhealthy,
		CreatedAt: c.Now(), Reason: r.reason}
	if at := fsm.TimeOf(r.at); at > 0 && at < e.CreatedAt {
		e.CreatedAt = at
	}
	for environment := range fsm.EnvironmentsByProject.Refs(c, p.Project) {
		if environment.Name == r.environment {
			e.Environment = environment.ID
			break
		}
	}
	return e
}

// readHealthPost reads what a provider of that name posts.
func readHealthPost(provider string, body []byte) ([]healthReport, error) {
	if provider == healthGrafana {
		return readGrafanaPost(body)
	}
	var post webhookPost
	if err := json.Unmarshal(body, &post); err != nil {
		return nil, err
	}
	if post.Feature == "" || post.Status != "healthy" && post.Status != "unhealthy" {
		return nil, errHealthPost
	}
	r := healthReport{feature: post.Feature, environment: post.Environment, unhealthy: post.Status == "unhealthy"}
	if post.Reason != nil {
		r.reason = &fsm.HealthReason{}
		for _, b := range post.Reason.Texts {
			addHealthBlock(&r.reason.Texts, b.Title, b.Text)
		}
		for _, b := range post.Reason.Links {
			addHealthBlock(&r.reason.Links, b.Title, b.URL)
		}
	}
	return []healthReport{r}, nil
}

func readGrafanaPost(body []byte) ([]healthReport, error) {
	var post grafanaPost
	if err := json.Unmarshal(body, &post); err != nil {
		return nil, err
	}
	var reports []healthReport
	for _, a := range post.Alerts {
		if a.Status == "" {
			return nil, errHealthPost
		}
		if a.Labels[grafanaFeature] == "" {
			continue
		}
		r := healthReport{feature: a.Labels[grafanaFeature], environment: a.Labels[grafanaEnvironment], id: healthText(a.Fingerprint),
			unhealthy: a.Status == "firing", at: a.EndsAt, reason: a.reason()}
		if r.unhealthy {
			r.at = a.StartsAt
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (a grafanaAlert) reason() *fsm.HealthReason {
	reason := &fsm.HealthReason{}
	name := a.Labels["alertname"]
	if name == "" {
		name = "Alertmanager Alert"
	}
	addHealthBlock(&reason.Texts, &name, a.Annotations["description"])
	link := func(to *[]fsm.HealthBlock, title, text string) {
		if text != "" {
			addHealthBlock(to, &title, text)
		}
	}
	link(&reason.Texts, "Summary", a.Annotations["summary"])
	link(&reason.Links, "Alert", a.GeneratorURL)
	link(&reason.Links, "Dashboard", a.DashboardURL)
	link(&reason.Links, "Panel", a.PanelURL)
	link(&reason.Links, "Runbook", a.Annotations["runbook_url"])
	return reason
}

// addHealthBlock adds a text or a link, cut to what is kept.
func addHealthBlock(to *[]fsm.HealthBlock, title *string, text string) {
	if len(*to) == maxHealthBlocks {
		return
	}
	b := fsm.HealthBlock{Text: healthText(text)}
	if title != nil {
		t := healthText(*title)
		b.Title = &t
	}
	*to = append(*to, b)
}

func healthText(s string) string {
	if r := []rune(s); len(r) > maxHealthText {
		s = string(r[:maxHealthText])
	}
	return strings.ReplaceAll(s, "\x00", "")
}
