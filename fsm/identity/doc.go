// Package identity is the replicated store of identities and their traits: millions per node, written by SDK traffic.
//
// One goroutine, the FSM's, writes (Stores.Apply, Stores.Snapshot); any number of goroutines read without a lock, a
// mailbox or an allocation. Everything the package decides follows from the log alone: no clock, no randomness, no map
// order reaches a result.
//
// # Layout
//
// An environment's identities are numbered in creation order (a slot) and grouped into segments of 2,048 slots. A
// segment is a table of offsets and an append-only arena of encoded records: bytes below the high-water mark never
// change, so a reader that got an offset reads without synchronisation, and a snapshot shares the arena and makes the
// writer clone only the table (16 KB: an offset and a note of the readers' own each) of a segment it touches. When an arena is full its live records are copied into a
// new one with a sixteenth of slack, which is both growth and compaction. The indexes hold slot numbers, which no update
// changes:
//
//   - identifier: extendible hashing over buckets of 64-bit words (38 bits of hash, 26 of slot), keyed hash;
//   - integer id and creation order: the slots themselves, ids grow with them;
//   - uuid: a keyed permutation of the integer id, no memory at all;
//   - identifier order and alias: a copy-on-write B-tree of slots.
//
// docs/adr/0003-identity-store.md has the measurements.
package identity
