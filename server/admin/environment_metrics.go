package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// metric is one number about an environment.
type metric struct {
	Value       int    `json:"value"`
	Description string `json:"description"`
	Name        string `json:"name"`
	Entity      string `json:"entity"`
	Rank        int    `json:"rank"`
}

type metrics struct {
	Metrics []metric `json:"metrics"`
}

func environmentMetricRows() []route.Row {
	return []route.Row{
		{Method: "GET", Path: "/api/v1/environments/{environment_api_key}/metrics/", OperationID: "api_v1_environments_metrics_list",
			Tag: "Environments", Auth: route.Admin, Permission: EnvironmentAdmin(Path("environment_api_key")), Handler: read(environmentMetrics)},
	}
}

func environmentMetrics(c *Ctx, _ struct{}) (metrics, error) {
	enabled := 0
	for s := range fsm.FeatureStatesByEnvironment.Refs(c, c.Environment.ID, fsm.StateDefault) {
		if s.Enabled {
			enabled++
		}
	}
	overrides := func(kind byte) int { return fsm.FeatureStatesByEnvironment.Count(c, c.Environment.ID, kind) }
	return metrics{[]metric{
		{fsm.FeaturesByProject.Count(c, c.Project.ID), "Total features", "total_features", "features", 1},
		{enabled, "Features enabled", "enabled_features", "features", 2},
		{overrides(fsm.StateSegment), "Segment overrides", "segment_overrides", "segments", 3},
		{overrides(fsm.StateIdentity), "Identity overrides", "identity_overrides", "identities", 4},
	}}, nil
}
