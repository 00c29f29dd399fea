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
	fsm.FeatureVersionsByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.FeatureVersionStatesByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.EnvironmentAPIKeysByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.PermissionsByObject.DeleteAll(c.Tx, fsm.LevelEnvironment, e.ID)
	fsm.UsagesByKey.DeleteAll(c.Tx, e.ID)
	fsm.MetadataByObject.DeleteAll(c.Tx, fsm.ContentEnvironment, e.ID)
	sick := fsm.FeatureHealthEventsByEnvironment.List(c, e.ID)
	fsm.FeatureHealthEventsByEnvironment.DeleteAll(c.Tx, e.ID)
	for _, event := range sick {
		if f, ok := fsm.Features.Get(c, event.Feature); ok {
			tagHealth(c, f)
		}
	}
	fsm.FeatureExportsByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.FeatureImportsByEnvironment.DeleteAll(c.Tx, e.ID)
	fsm.EnvironmentOnboardings.Delete(c.Tx, e.ID)
	for _, w := range fsm.WebhooksByEnvironment.List(c, e.ID) {
		fsm.DeleteWebhook(c.Tx, w.ID)
	}
	c.Identity(identity.Op{Kind: identity.KindDropEnvironment, Environment: e.ID}, nil)
	e.UpdatedAt = c.Now() // no later audit row shows it: see Scheduler
	fsm.DeletedEnvironments.Put(c.Tx, e)
	fsm.Environments.Delete(c.Tx, e.ID)
}

func deleteProjectTree(c *Ctx, p fsm.Project) {
	for _, e := range fsm.EnvironmentsByProject.List(c, p.ID) {
		deleteEnvironmentTree(c, e)
	}
	for _, f := range fsm.FeaturesByProject.List(c, p.ID) {
		deleteFeatureTree(c, f)
	}
	for _, s := range fsm.SegmentsByProject.List(c, p.ID) {
		fsm.MetadataByObject.DeleteAll(c.Tx, fsm.ContentSegment, s.ID)
	}
	fsm.FeatureHealthProvidersByProject.DeleteAll(c.Tx, p.ID)
	fsm.CodeRepositoriesByProject.DeleteAll(c.Tx, p.ID)
	deleteProjectFields(c, p)
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
	for _, w := range fsm.WebhooksByOrganisation.List(c, organisation) {
		fsm.DeleteWebhook(c.Tx, w.ID)
	}
	fsm.MembershipsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.InvitesByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.InviteLinksByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.MasterAPIKeysByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.MetadataModelFieldsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.MetadataFieldsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.PermissionsByObject.DeleteAll(c.Tx, fsm.LevelOrganisation, organisation)
	fsm.AuditLogsByOrganisation.DeleteAll(c.Tx, organisation)
	for _, p := range fsm.DeletedProjectsByOrganisation.List(c, organisation) {
		fsm.DeletedEnvironmentsByProject.DeleteAll(c.Tx, p.ID)
	}
	fsm.DeletedProjectsByOrganisation.DeleteAll(c.Tx, organisation)
	fsm.Organisations.Delete(c.Tx, organisation)
}

// deleteFeatureTree deletes a feature whose states are gone.
func deleteFeatureTree(c *Ctx, f fsm.Feature) {
	fsm.MultivariateOptionsByFeature.DeleteAll(c.Tx, f.ID)
	fsm.MetadataByObject.DeleteAll(c.Tx, fsm.ContentFeature, f.ID)
	fsm.FeatureHealthEventsByFeature.DeleteAll(c.Tx, f.ID)
	for _, e := range fsm.EnvironmentsByProject.List(c, f.Project) {
		fsm.UsagesByKey.DeleteAll(c.Tx, e.ID, byte(fsm.UsageEvaluation), f.ID)
	}
	fsm.Features.Delete(c.Tx, f.ID)
}

// deleteProjectFields deletes the custom fields of a project, and what it demands of other ones.
func deleteProjectFields(c *Ctx, p fsm.Project) {
	for _, f := range fsm.MetadataFieldsByProject.List(c, p.ID) {
		deleteMetadataFieldTree(c, f.ID)
	}
	gone := fsm.MetadataRequirement{ContentType: fsm.ContentProject, Object: p.ID}
	for _, m := range fsm.MetadataModelFieldsByOrganisation.List(c, p.Organisation) {
		if i := slices.Index(m.RequiredFor, gone); i >= 0 {
			m.RequiredFor = slices.Delete(slices.Clone(m.RequiredFor), i, i+1)
			fsm.MetadataModelFields.Put(c.Tx, m)
		}
	}
}

func deleteMetadataFieldTree(c *Ctx, field uint64) {
	for _, m := range fsm.MetadataModelFieldsByField.List(c, field) {
		fsm.MetadataByModelField.DeleteAll(c.Tx, m.ID)
		fsm.MetadataModelFields.Delete(c.Tx, m.ID)
	}
	fsm.MetadataFields.Delete(c.Tx, field)
}

func deleteGroupTree(c *Ctx, g fsm.Group) {
	for _, p := range fsm.ProjectsByOrganisation.List(c, g.Organisation) {
		disownGroup(c, p.ID, g.ID)
	}
	for _, i := range fsm.InvitesByOrganisation.List(c, g.Organisation) {
		if slices.Contains(i.Groups, g.ID) {
			i.Groups = withoutIDs(i.Groups, []uint64{g.ID})
			fsm.Invites.Put(c.Tx, i)
		}
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
