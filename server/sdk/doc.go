// Package sdk serves the public API: flags, identities, traits, the environment
// document and analytics, authenticated by environment keys.
//
// Handlers are raw: they work on fasthttp's buffers, load one View and append
// what it has rendered. GET /flags/ and a POST /identities/ that changes nothing
// do not allocate. Nothing borrowed from a RequestCtx outlives its handler: what
// is sent to the leader is copied first (see writer.go).
//
// The way of a POST /identities/: scan (scan.go, or decode.go for odd bodies),
// merge with what is stored (merge.go), persist if anything changed or this node
// may be behind (identify.go, writer.go), evaluate and answer (render.go).
package sdk
