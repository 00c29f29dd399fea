package admin

import (
	"strings"

	"github.com/flagraft/flagraft/server/route"
)

// integration is a connection to another service. There are none: flagraft sends to webhooks only. The front end asks for the lists all the
// same, on each page of features and of settings, so they are there and empty.
type integration struct {
	ID uint64 `json:"id"`
}

// externalResources are the links of a feature to other services.
type externalResources struct {
	Results []integration `json:"results"`
}

func integrationRows() []route.Row {
	organisation := OrganisationMember(Path("organisation_pk"))
	project := ProjectPermission("VIEW_PROJECT", Path("project_pk"))
	environment := EnvironmentPermission("VIEW_ENVIRONMENT", Path("environment_api_key"))
	rows := []route.Row{
		{Method: "GET", Path: "/api/v1/organisations/{organisation_pk}/integrations/github/", OperationID: "api_v1_organisations_integrations_github_list",
			Tag: "Integrations", Auth: route.Admin, Permission: organisation, Handler: read(pageOfIntegrations)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/features/{feature_pk}/feature-external-resources/", OperationID: "get_feature_external_resources",
			Tag: "Integrations", Auth: route.Admin, Permission: project.Feature(Path("feature_pk")), Handler: read(listExternalResources)},
	}
	for _, level := range []struct {
		name, param string
		permission  route.Permission
		services    string
	}{
		{"organisations", "organisation_pk", organisation, "grafana"},
		{"projects", "project_pk", project, "datadog gitlab grafana new-relic"},
		{"environments", "environment_api_key", environment, "amplitude dynatrace grafana heap mixpanel rudderstack segment sentry slack webhook"},
	} {
		for service := range strings.FieldsSeq(level.services) {
			rows = append(rows, route.Row{Method: "GET", Path: "/api/v1/" + level.name + "/{" + level.param + "}/integrations/" + service + "/",
				OperationID: "api_v1_" + level.name + "_integrations_" + strings.ReplaceAll(service, "-", "_") + "_list", Tag: "Integrations",
				Auth: route.Admin, Permission: level.permission, Handler: read(listIntegrations)})
		}
	}
	return rows
}

func listIntegrations(*Ctx, struct{}) ([]integration, error) { return []integration{}, nil }

func pageOfIntegrations(c *Ctx, _ struct{}) (route.Page[integration], error) {
	return paginate(c, []integration{}, func(i integration) integration { return i })
}

func listExternalResources(*Ctx, struct{}) (externalResources, error) {
	return externalResources{Results: []integration{}}, nil
}
