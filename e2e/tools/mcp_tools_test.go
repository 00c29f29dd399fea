package tools

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// mcpTools are the tools of the MCP server, with the operations that its bundled description names for them.
var mcpTools = map[string]string{
	"list_organizations":                       "GET /api/v1/organisations/",
	"list_projects_in_organization":            "GET /api/v1/organisations/{id}/projects/",
	"list_organization_groups":                 "GET /api/v1/organisations/{organisation_pk}/groups/",
	"list_organization_invites":                "GET /api/v1/organisations/{organisation_pk}/invites/",
	"create_organization_invite":               "POST /api/v1/organisations/{organisation_pk}/invites/",
	"get_project":                              "GET /api/v1/projects/{id}/",
	"update_project":                           "PUT /api/v1/projects/{id}/",
	"list_project_environments":                "GET /api/v1/projects/{id}/environments/",
	"list_environments":                        "GET /api/v1/environments/",
	"create_feature":                           "POST /api/v1/projects/{project_pk}/features/",
	"list_project_features":                    "GET /api/v1/projects/{project_pk}/features/",
	"get_feature_flag":                         "GET /api/v1/projects/{project_pk}/features/{id}/",
	"update_feature":                           "PUT /api/v1/projects/{project_pk}/features/{id}/",
	"get_feature_evaluation_data":              "GET /api/v1/projects/{project_pk}/features/{id}/evaluation-data/",
	"get_feature_code_references":              "GET /api/v1/projects/{project_pk}/features/{feature_pk}/code-references/",
	"get_feature_external_resources":           "GET /api/v1/projects/{project_pk}/features/{feature_pk}/feature-external-resources/",
	"get_feature_health_events":                "GET /api/v1/projects/{project_pk}/feature-health/events/",
	"get_feature_lifecycle_counts":             "GET /api/v1/environments/{environment_pk}/feature-lifecycle-counts/",
	"create_feature_multivariate_option":       "POST /api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/",
	"list_feature_multivariate_options":        "GET /api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/",
	"update_feature_multivariate_option":       "PUT /api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/{id}/",
	"delete_feature_multivariate_option":       "DELETE /api/v1/projects/{project_pk}/features/{feature_pk}/mv-options/{id}/",
	"create_project_segment":                   "POST /api/v1/projects/{project_pk}/segments/",
	"list_project_segments":                    "GET /api/v1/projects/{project_pk}/segments/",
	"get_project_segment":                      "GET /api/v1/projects/{project_pk}/segments/{id}/",
	"update_project_segment":                   "PUT /api/v1/projects/{project_pk}/segments/{id}/",
	"update_environment_feature_state":         "PUT /api/v1/environments/{environment_api_key}/featurestates/{id}/",
	"update_feature_state":                     "PUT /api/v1/features/featurestates/{id}/",
	"create_segment_override":                  "POST /api/v1/environments/{environment_api_key}/features/{feature_pk}/create-segment-override/",
	"list_feature_segments":                    "GET /api/v1/features/feature-segments/",
	"delete_feature_segment":                   "DELETE /api/v1/features/feature-segments/{id}/",
	"get_environment_feature_versions":         "GET /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/",
	"create_environment_feature_version":       "POST /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/",
	"get_environment_feature_version_states":   "GET /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{environment_feature_version_pk}/featurestates/",
	"create_environment_feature_version_state": "POST /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{environment_feature_version_pk}/featurestates/",
	"update_environment_feature_version_state": "PUT /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{environment_feature_version_pk}/featurestates/{id}/",
	"publish_environment_feature_version":      "POST /api/v1/environments/{environment_pk}/features/{feature_pk}/versions/{id}/publish/",
}

// mcpAbsent are the tools for what flagraft does not have: change requests, release pipelines, roles and experiments.
var mcpAbsent = map[string]string{
	"create_environment_feature_change_request": "POST /api/v1/environments/{environment_api_key}/create-change-request/",
	"list_environment_change_requests":          "GET /api/v1/environments/{environment_api_key}/list-change-requests/",
	"list_project_change_requests":              "GET /api/v1/projects/{project_pk}/change-requests/",
	"list_project_release_pipelines":            "GET /api/v1/projects/{project_pk}/release-pipelines/",
	"get_release_pipeline":                      "GET /api/v1/projects/{project_pk}/release-pipelines/{id}/",
	"add_feature_to_release_pipeline":           "POST /api/v1/projects/{project_pk}/release-pipelines/{id}/add-feature/",
	"list_organization_roles":                   "GET /api/v1/organisations/{organisation_pk}/roles/",
	"list_metrics":                              "GET /api/v1/environments/{environment_api_key}/experiment-metrics/",
	"create_metric":                             "POST /api/v1/environments/{environment_api_key}/experiment-metrics/",
	"get_metric":                                "GET /api/v1/environments/{environment_api_key}/experiment-metrics/{id}/",
	"update_metric":                             "PUT /api/v1/environments/{environment_api_key}/experiment-metrics/{id}/",
	"list_experiments":                          "GET /api/v1/environments/{environment_api_key}/experiments/",
	"create_experiment":                         "POST /api/v1/environments/{environment_api_key}/experiments/",
	"get_experiment":                            "GET /api/v1/environments/{environment_api_key}/experiments/{experiment_id}/",
	"update_experiment":                         "PUT /api/v1/environments/{environment_api_key}/experiments/{experiment_id}/",
	"get_experiment_exposures":                  "GET /api/v1/environments/{environment_api_key}/experiments/{experiment_id}/exposures/",
	"get_experiment_results":                    "GET /api/v1/environments/{environment_api_key}/experiments/{experiment_id}/results/",
}

// mcp plays the MCP server.
type mcp struct {
	*tool
	called map[string]bool
}

// call makes a request of a tool and its arguments, as the server does: those that the path names go there (with `__path` behind their name if the body has one of
// that name too), the rest into the body, or into the query of what has none.
func (m *mcp) call(name string, arguments object, want int) *nodes.Answer {
	m.Helper()
	operation, known := mcpTools[name]
	require.True(m, known, name)
	method, path, body := request(operation, arguments)
	m.called[name] = true
	a, err := m.client.Must(m.ctx, method, path, body, want)
	require.NoError(m, err, name)
	return a
}

func request(operation string, arguments object) (method, path string, body any) {
	method, path, _ = strings.Cut(operation, " ")
	rest, query := object{}, url.Values{}
	for name, value := range arguments {
		placeholder := "{" + strings.TrimSuffix(name, "__path") + "}"
		switch {
		case strings.Contains(path, placeholder) && (strings.HasSuffix(name, "__path") || arguments[name+"__path"] == nil):
			path = strings.Replace(path, placeholder, fmt.Sprint(value), 1)
		case method == http.MethodGet || method == http.MethodDelete:
			query.Set(name, fmt.Sprint(value))
		default:
			rest[name] = value
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if method == http.MethodGet || method == http.MethodDelete {
		return method, path, nil
	}
	return method, path, rest
}

// page calls a tool that answers a page, and returns its rows.
func (m *mcp) page(name string, arguments object) []object {
	m.Helper()
	p := decode[struct {
		Count          *int
		Next, Previous *string
		Results        []object
	}](m.tool, m.call(name, arguments, 200))
	require.NotNil(m, p.Count, name)
	require.Len(m, p.Results, *p.Count, name)
	require.Nil(m, p.Next, name)
	return p.Results
}

// list calls a tool that answers a bare array.
func (m *mcp) list(name string, arguments object) []object {
	m.Helper()
	return decode[[]object](m.tool, m.call(name, arguments, 200))
}
