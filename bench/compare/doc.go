// Package compare feeds other flag servers and engines with what a flagraft node
// serves, so that they can be measured beside it.
//
// The node's own environment document is the source: [Document.Unleash] makes Unleash
// Edge's bootstrap file of it, [Document.Contexts] the evaluation contexts that the
// Python and Node engines take. What has no equivalent is refused rather than
// approximated, and answers are compared before anything is measured. install.sh
// installs the peers.
package compare
