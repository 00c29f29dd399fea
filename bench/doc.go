// Package bench measures flagraft beside a floor in one run: the same machine, the
// same minute, turn by turn. Absolute figures of a shared machine mean little, ratios
// mean something, and CPU time of the server per request means most.
//
// Reading is measured on one node against a bare handler that writes the same bytes;
// writing on three nodes with their logs on the disk that is named, beside the mean
// time of an fsync in that run.
//
// With Config.Peers it measures other flag servers and engines in turn with ours
// instead, on equivalents of the same flags (package compare), and says what is equal
// and what is not. With Config.Scale it measures what a request costs as one size of
// the profile after the other grows, and draws that.
package bench
