package fsm

// The audit log outlives what it tells about: deleted projects and environments
// are kept as they were, under their old ids, to be shown in its rows. They are
// in no other list and go with their organisation, or with the last of these rows.
// UpdatedAt of an environment is when it was deleted.
var (
	DeletedProjects               = newTable[Project](24, "DeletedProject", func(p *Project) *uint64 { return &p.ID }, nil)
	DeletedProjectsByOrganisation = DeletedProjects.index("organisation", func(p *Project, k Key) (Key, bool) { return k.Uint(p.Organisation), true })
	DeletedEnvironments           = newTable[Environment](25, "DeletedEnvironment", func(e *Environment) *uint64 { return &e.ID }, nil)
	DeletedEnvironmentsByProject  = DeletedEnvironments.index("project", func(e *Environment, k Key) (Key, bool) { return k.Uint(e.Project), true })
)
