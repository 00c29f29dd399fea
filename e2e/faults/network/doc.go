// Package network gives every node of a cluster, and the clients, a network
// namespace of its own, and joins them through a switch in this process. The
// switch forwards IP packets between the namespaces' TUN devices and decides
// for each direction of each link whether a packet is dropped, delayed, or
// waits for its share of a bandwidth: partitions (also one-way), loss, jitter,
// reordering and thin lines need nothing else of the kernel, neither netem nor
// nftables.
//
// The namespaces have no names and hang on this process: they are gone with it,
// however it ends, and any number of networks exist side by side.
package network

import (
	"errors"
	"time"
)

// ErrNotPermitted says that this process may not make network namespaces or TUN devices.
var ErrNotPermitted = errors.New("network: namespaces are not permitted here")

// Shape is what happens to packets in one direction of a link. The zero value
// forwards at once.
type Shape struct {
	Cut    bool          // nothing passes
	Loss   float64       // the share of packets dropped, 0 to 1
	Delay  time.Duration // every packet waits
	Jitter time.Duration // and up to this much longer; packets overtake each other
	Rate   int           // bytes a second; 0: no limit
}

// backlog is how far a thin line may lag behind before it drops.
const backlog = 500 * time.Millisecond

// mtu is the size of the largest packet: jumbo frames spare the switch work.
const mtu = 9000
