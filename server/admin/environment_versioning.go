package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

func environmentVersioningRows() []route.Row {
	admin := EnvironmentAdmin(Path("api_key"))
	return []route.Row{
		{Method: "POST", Path: "/api/v1/environments/{api_key}/enable-v2-versioning/", OperationID: "api_v1_environments_enable_v2_versioning_create",
			Tag: "Environments", Summary: "Keep versions of what each feature does in the environment.", Auth: route.Admin, Level: 3,
			Permission: admin, Kind: route.Write, Status: 202, Handler: write(enableVersioning)},
		{Method: "POST", Path: "/api/v1/environments/{api_key}/disable-v2-versioning/", OperationID: "api_v1_environments_disable_v2_versioning_create",
			Tag: "Environments", Summary: "Keep only what is live; every other version is lost.", Auth: route.Admin, Level: 3,
			Permission: admin, Kind: route.Write, Status: 202, Handler: write(disableVersioning)},
	}
}

func enableVersioning(c *Ctx, _ environmentRef) (route.Empty, error) {
	if c.Environment.UseV2FeatureVersioning {
		return c.fail(route.BadRequest("Environment already using v2 versioning."))
	}
	setVersioning(c, true)
	startVersions(c, c.Environment)
	return c.OK()
}

func disableVersioning(c *Ctx, _ environmentRef) (route.Empty, error) {
	if !c.Environment.UseV2FeatureVersioning {
		return c.fail(route.BadRequest("Environment is not using v2 versioning."))
	}
	c.Tx.EndVersions(c.Environment.ID)
	setVersioning(c, false)
	return c.OK()
}

func setVersioning(c *Ctx, on bool) {
	c.Environment.UseV2FeatureVersioning = on
	fsm.Environments.Put(c.Tx, c.Environment)
	c.Audit(c.Environment.ID, fsm.AuditEnvironment, c.Environment.ID, "Environment updated: "+c.Environment.Name)
}

// startVersions makes what is live in a versioned environment the first version of each feature.
func startVersions(c *Ctx, e fsm.Environment) {
	for _, f := range fsm.FeaturesByProject.List(c, e.Project) {
		c.Tx.StartVersions(e.ID, f.ID)
	}
}
