// Package admin is the admin API: one file per resource, one row and one function per operation.
//
// A resource file holds its input and output types, its rows and its handlers, in this order; tag.go is the example to copy. rows.go lists
// the resources. Nothing else has to be touched: routing, authentication, permission, decoding, error shapes, forwarding to the leader,
// idempotency, waiting for the View, metrics and the API description follow from the row. The tests ask for a line in
// server/testdata/reads.txt or writes.txt, and try all of that with it.
//
//	{Method: "POST", Path: "/api/v1/projects/{project_pk}/tags/", OperationID: "api_v1_projects_tags_create", Tag: "Tags",
//		Status: 201, Kind: route.Write, Auth: route.Admin, Permission: ProjectPermission("MANAGE_TAGS", Path("project_pk")),
//		Handler: write(createTag)},
//
//	func createTag(c *Ctx, in tagInput) (tag, error) {
//		t := fsm.Tag{UUID: c.Tx.NewUUID(), Project: c.Project.ID, Color: "#6837FC", Type: "NONE"}
//		in.apply(&t)
//		return renderTag(fsm.Tags.Put(c.Tx, t)), nil
//	}
//
// # What a handler gets
//
// A *Ctx is the request's fsm.Reader: fsm.Tags.Get(c, id) reads. In a write it is the transaction, and c.Tx writes; the function may run
// more than once, so it must not do anything but compute and use c. Slow or outside work (hashing a password, a name lookup, a request to
// somebody) goes into the before step of write, which runs once, on the leader, after authentication and permission and before the
// transaction:
//
//	Handler: write(login).before(checkPassword)
//
//	func checkPassword(c *Ctx, in *loginInput) error { ... }
//
// What the row's permission looked up is there already: c.Organisation, c.Project, c.Environment.
//
// # Errors
//
// Return the constructors of package route: route.NotFound("Tag"), route.Field("name", "..."), route.NonField(...), route.BadRequest(...),
// route.PermissionDenied(). Any other error becomes a 500 and is logged.
package admin
