// Package ofrep serves the OpenFeature Remote Evaluation Protocol (OFREP 0.3):
//
//	POST /ofrep/v1/evaluate/flags/{key}   one flag
//	POST /ofrep/v1/evaluate/flags         all flags, with ETag
//
// It evaluates as POST /api/v1/identities/ does and stores nothing.
//
// # Keys
//
// The environment key, client or server side, comes as X-Environment-Key or as
// "Authorization: Bearer <key>": OFREP clients send what they are told to. The
// rules of keys are those of the SDK API: hidden disabled flags and
// server-key-only flags are not there, and a client-side key's attributes count
// only where allow_client_traits is on.
//
// # Context
//
//	targetingKey      the identity's identifier
//	"traits": {…}     traits, as Flagsmith's own OpenFeature providers take them
//	anything else     a trait of that name
//
// Strings, numbers and booleans are traits; null, lists and objects are left
// out. What no trait can be (half a surrogate pair, 1e400) is refused, and names
// lose the white space around them, as there. Attributes lie over the stored traits of a known identity for this one
// evaluation, its overrides count, and nobody is created. Attributes without a
// targetingKey are evaluated for the made-up identity that POST /identities/
// uses, so that the same attributes give the same variants. Without both the
// environment's flags are answered.
//
// # Values
//
// A Flagsmith flag is a switch and a value, OFREP knows one value:
//
//	state                           value                     reason
//	enabled, no value or ""         true                      by the rule below
//	enabled, integer or boolean     that                      by the rule below
//	enabled, JSON object or list    that, parsed              by the rule below
//	enabled, other text             that text                 by the rule below
//	disabled, no value or ""        false                     DISABLED
//	disabled, with a value          left out: code default    DISABLED
//
// The text of a number stays text: Flagsmith has no floats. A flag that has a
// value answers it, not its switch, which stands in the metadata: enabled,
// featureId.
//
// Reason is SPLIT where a multivariate option was chosen by hash (its control
// too), TARGETING_MATCH where a segment or identity override won, DEFAULT where
// the environment's state won although there are others, STATIC where there are
// none. Variant is the option's key, "option-<n>" for the n-th option without
// one, "control", or "enabled" and "disabled".
//
// # Errors
//
// {"key", "errorCode", "errorDetails"}: 400 PARSE_ERROR and INVALID_CONTEXT, 404
// FLAG_NOT_FOUND, and GENERAL with 401 (no key, unknown key), 403 (key or
// organisation out of use) and 503 (this node is behind).
//
// # Change
//
// The ETag of a bulk answer covers the context and all that is answered;
// If-None-Match gets 304. The member eventStreams names the stream of changes.
// A flagConfigEtag in the query, which a client copies from such an event, is an
// index token: the answer waits a moment until this node has it.
package ofrep
