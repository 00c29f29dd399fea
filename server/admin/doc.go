// Package admin is the private API: everything the Flagsmith front end can do.
//
// A resource is one file: its rows, its input and output types, its functions
// (tag.go is the smallest). A row says who may call it and what they need to be
// allowed; a function gets a [Ctx] with the objects of its path already loaded,
// and returns its answer or one of package route's errors. Functions check no
// permissions, render no errors and take no locks.
//
// A read runs on the newest applied state. A write runs on the leader inside a
// transaction; it may run more than once, so it must do nothing that it cannot
// repeat. Slow work (hashing a password) is a Prepare step before it.
package admin
