// Package faults breaks clusters of real processes on purpose and checks that
// nothing they promised is broken with them.
//
// A [Run] starts a cluster, each node in a network namespace and, if asked for, on
// a disk of its own, and plays rounds. In a round, clients record every operation while a schedule of
// faults, derived from one seed, is injected and healed; then the round waits
// until the cluster is whole again and every check looks at what was recorded
// and at every node. What a round found is one line of a results file, from
// which the report in docs/reliability.md is made.
package faults
