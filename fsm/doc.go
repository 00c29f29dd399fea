// Package fsm holds flagraft's replicated state: the tables, the identity
// store, the log entries that change them, and the Views that readers load.
//
// Three kinds of log entry carry what users write: a Changeset (rows of admin
// writes), an IdentityBatch (upserts of SDK traffic) and a UsageBatch
// (counters). The others (entry.go) found the installation, raise its format
// level, compare state hashes and restore a backup. Handlers compute on the
// leader inside a [Tx]; the log carries the rows they wrote; applying stays the
// same few lines whatever the resource.
//
// Applying is deterministic: no clock, no randomness, no map iteration that
// reaches an output, no I/O. Every value that is not a function of the log is
// chosen by the proposer and travels in the entry.
//
// Each resource is one file that declares its row and its table (tag.go is the
// smallest); table.go, tx.go, apply.go and writer.go are the machinery.
package fsm
