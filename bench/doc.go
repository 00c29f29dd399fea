// Package bench measures flagraft beside a floor in one run: the same machine, the
// same minute, turn by turn. Absolute figures of a shared machine mean little, ratios
// mean something, and CPU time of the server per request means most.
//
// A node and the floor change places within a run, each tenth of a second, where they only
// read in the closed loop and nothing else goes on: the cores of a shared machine may be of
// half the speed for a second. Beside other servers, whose last answers would take much of
// that, they do not.
//
// Reading is measured on one node against a bare handler that writes the same bytes;
// writing on three nodes with their logs on the disk that is named, beside the mean
// time of an fsync in that run.
//
// What a socket would hide is measured in this process: a request in its handler, the
// engine, the identity store, and, with three nodes of package inside, the commit path
// and the way from a commit to every node's View. Memory, restore and start-up are those
// of a real process with a million identities; names that end in 10m are measured with
// ten million, and only when Config.Only asks for them.
//
// target.go, figuregoal.go and, of the large project, large.go hold the goals; the report says of each whether it was met.
//
// With Config.Peers it measures other flag servers and engines in turn with ours
// instead, on equivalents of the same flags (package compare), and says what is equal
// and what is not. With Config.Scale it measures what a request costs as one size of
// the profile after the other grows, and draws that.
package bench
