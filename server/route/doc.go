// Package route is the table that describes every endpoint once.
//
// A Row names method, path, operation, authentication, permission, request and response types and the handler. From the rows come the
// router (Table.Lookup, no allocation), the schema-driven decoder of requests (Schema), the writer of answers (Encoder), Flagsmith's error
// shapes (errors.go) and the OpenAPI 3.1 description (OpenAPI). The package knows HTTP's shapes but neither flags nor Raft: it imports
// nothing of fsm, and what the server attaches to a call travels in Call.State.
//
// # Input structs
//
// An input type is a struct whose tags say where a member comes from and what it must look like:
//
//	type UpdateTag struct {
//		Project     int64                   `path:"project_pk"`
//		Tag         int64                   `path:"id"`
//		Dry         bool                    `query:"dry"`
//		Label       route.Optional[string]  `json:"label" v:"required,max=100"`
//		Description route.Optional[string]  `json:"description" v:"null,blank,max=512"`
//		Kind        route.Optional[string]  `json:"kind" v:"choice=A|B"`
//	}
//
// Sources: path, query, json (the body: JSON, form-urlencoded or multipart alike), and body:"" for a member that takes the whole body.
// A types tag (types:"integer,boolean") is what the API description says of a member, in answers too, where the Go type tells less.
// Rules of the v tag, separated by commas:
//
//	required     missing is an error, except in a PATCH, where every body member may be left out
//	null         null is allowed (a *T is nullable by its type); it stores nil, or Optional.Null
//	blank        "" is allowed; otherwise "This field may not be blank."
//	notrim       keep surrounding white space
//	min=N max=N  length of strings and lists, range of numbers
//	choice=A|B   one of these texts
//	default=X    what a missing member becomes (not in a PATCH)
//	email url uuid slug   formats of strings
//	pk           a primary key: DRF's related-field messages instead of the integer ones
//	nonempty     a list that may not be empty
//	whole        an object whose members are required in a PATCH, too; elements of lists always are such
//	csv          a query list separated by commas
//
// A missing member leaves its Go zero value; use Optional[T] where missing, null and a value must be told apart. An input type (or any
// nested struct) with a method Validate(*Errors) on its pointer is asked for object-level checks after all its members passed.
package route
