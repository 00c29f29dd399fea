// Package load is a generator of HTTP load that costs little beside the server it
// measures: one thread, epoll, plain keep-alive connections, requests made by
// copying prepared bytes.
//
// In the closed loop every connection sends its next request when the last one was
// answered: that finds the highest throughput. In the open loop requests are due at
// a fixed rate whatever the server does, and a latency counts from the moment the
// request was due, so that a server which stalls is charged for everybody who
// waited (no coordinated omission).
package load
