// Package openapi holds the API description that a node serves against the
// recorded one of the reference: every recorded operation must be there, take what
// the recorded one takes and answer what it answers. More is allowed: further
// operations, parameters, and members of answers.
package openapi
