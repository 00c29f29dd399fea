package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

// What hangs below an object goes with it, in the same write, as ranges of indexes. A resource that hangs below an environment, a project or
// an organisation adds its line here. Audit rows stay with their organisation; what they show of the deleted object is kept for them.

func deleteEnvironmentTree(c *Ctx, e fsm.Environment) {
	fsm.FeatureStatesByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.FeatureSegmentsByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.EnvironmentAPIKeysByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.PermissionsByObject.DeleteAll(c.Tx, fsm.LevelEnvironment, e.ID)
	fsm.UsagesByKey.DeleteAll(c.Tx, e.ID)
	c.Identity(identity.Op{Kind: identity.KindDropEnvironment, Environment: e.ID}, nil)
	fsm.DeletedEnvironments.Put(c.Tx, e)
	fsm.Environments.Delete(c.Tx, e.ID)
}

func deleteProjectTree(c *Ctx, p fsm.Project) {
	for _, e := range fsm.EnvironmentsByProject.List(c, p.ID) {
		deleteEnvironmentTree(c, e)
	}
	for _, f := range fsm.FeaturesByProject.List(c, p.ID) {
		fsm.MultivariateOptionsByFeature.DeleteAll(c.Tx, f.ID)
	}
	fsm.FeaturesByProject.DeleteAll(c.Tx, p.ID)
	fsm.SegmentsByProject.DeleteAll(c.Tx, p.ID)
	fsm.TagsByProject.DeleteAll(c.Tx, p.ID)
	fsm.PermissionsByObject.DeleteAll(c.Tx, fsm.LevelProject, p.ID)
	fsm.DeletedProjects.Put(c.Tx, p)
	fsm.Projects.Delete(c.Tx, p.ID)
}

func deleteOrganisationTree(c *Ctx, organisation uint64) {
	for _, p := range fsm.ProjectsByOrganisation.List(c, organisation) {
		deleteProjectTree(c, p)
	}
	for _, g := range fsm.GroupsByOrganisation.List(c, organisation) {
		deleteGroupTree(c, g)
	}
	fsm.MembershipsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.MasterAPIKeysByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.PermissionsByObject.DeleteAll(c.Tx, fsm.LevelOrganisation, organisation)
	fsm.AuditLogsByOrganisation.DeleteAll(c.Tx, organisation)
	for _, p := range fsm.DeletedProjectsByOrganisation.List(c, organisation) {
		fsm.DeletedEnvironmentsByProject.DeleteAll(c.Tx, p.ID)
	}
	fsm.DeletedProjectsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.Organisations.Delete(c.Tx, organisation)
}

func deleteGroupTree(c *Ctx, g fsm.Group) {
	for _, p := range fsm.ProjectsByOrganisation.List(c, g.Organisation) {
		disownGroup(c, p.ID, g.ID)
	}
	fsm.GroupMembersByGroup.DeleteAll(c.Tx, g.ID)
	fsm.PermissionsByGroup.DeleteAll(c.Tx, g.ID)
	fsm.Groups.Delete(c.Tx, g.ID)
}

func disownGroup(c *Ctx, project, group uint64) {
	for _, f := range fsm.FeaturesByProject.List(c, project) {
		if slices.Contains(f.GroupOwners, group) {
			f.GroupOwners = withoutIDs(f.GroupOwners, []uint64{group})
			fsm.Features.Put(c.Tx, f)
		}
	}
}
