package admin

import (
	"fmt"
	"testing"
)

// TestIntegrationLists asks what the front end asks on the pages of features and settings, where 404 would be an error on the page.
func TestIntegrationLists(t *testing.T) {
	h := newHarness(t)
	feature := h.feature(`{"name":"f"}`)
	organisation := fmt.Sprintf("/api/v1/organisations/%d/integrations/", h.organisation.ID)
	project := fmt.Sprintf("/api/v1/projects/%d/", h.project.ID)
	environment := "/api/v1/environments/" + h.environment.APIKey + "/integrations/"
	for path, want := range map[string]string{
		organisation + "github/":           `{"count":0,"next":null,"previous":null,"results":[]}`,
		organisation + "grafana/":          `[]`,
		project + "integrations/gitlab/":   `[]`,
		project + "integrations/new-relic": `[]`,
		environment + "slack/":             `[]`,
		environment + "webhook/":           `[]`,
		fmt.Sprintf("%sfeatures/%d/feature-external-resources/", project, feature): `{"results":[]}`,
	} {
		h.get(path, 200).is(want)
		h.do("stranger", "GET", path, nil).must(403)
		h.post(path, `{"api_key":"k"}`, 405)
	}
	h.get(project+"features/999/feature-external-resources/", 404)
}
