// Package fuzz runs all fuzz targets of the module as a campaign: it builds each
// package once, gives each target its time, counts what Go's fuzzer executed and
// stops at the first finding. Every run of a target is a line in a results file,
// from which the table in docs/reliability.md is made.
package fuzz
