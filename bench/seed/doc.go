// Package seed makes the data that is measured, and the requests that use it.
//
// The profile is that of the load test which the edge proxy's makers published: 50
// features and 15 segments, each overriding all features and asking for 15 equal
// traits. Identity i is in segment i mod 16; every sixteenth is in none.
package seed
