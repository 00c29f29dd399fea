// Package docs reads the documentation (README.md and docs/**/*.md) as a program:
// every shell command in it is run, or says why not.
//
// A page is run top to bottom in one shell, in an empty directory, on a stage of
// its own: namespaces in which every port is free and four pretended machines,
// node-a to node-d, are reached with ssh and scp and run flagraft.service
// (stage/begin). Pages of docs/operations begin with a cluster that runs on the
// first three: the commands of docs/three-machines.md were run before.
//
// A block of language sh is run and has to succeed. A block of language text
// behind it is what it prints: "…" stands for anything within a line, a line of
// nothing else for any lines. Comments of HTML, which readers do not see, change
// that. They stand on the line before the block:
//
//	<!-- not run: REASON -->    it is not run; its flagraft commands and flags must exist
//	<!-- own terminal -->       it goes on; the next block follows when it printed its text
//	<!-- exits N -->            it ends with this code
//	<!-- repeat -->             it is run until it ends as it should and prints its text
//
// and one holds commands of its own, such as a disaster that a page helps with:
//
//	<!-- run
//	ssh node-b 'rm -rf /var/lib/flagraft/*'
//	-->
package docs
