package server

import (
	"math"

	"github.com/flagraft/flagraft/server/settings"
)

// SpareDescriptors is how many of a process's file descriptors are kept from connections: for the log, snapshots, other nodes and mails.
const SpareDescriptors = 500

// What one of each costs in memory at worst, roughly: its share of the limit divided by it is how many there may be.
const (
	connectionCost = writeBuffer + 16<<10 // buffers, besides the read buffer; goroutine and bookkeeping included
	requestCost    = 64 << 10
	writeCost      = 128 << 10 // parsed input, transaction and answer
	// bodyFactor is what a byte of a body may become once it is parsed: a list of small numbers takes most.
	bodyFactor = 64
)

// budget is how much of everything this node takes on at once. The settings bound it; with a memory limit each part also gets a share of that.
type budget struct {
	limit       int64 // bytes; math.MaxInt64: none
	connections int64
	requests    int64
	writes      int64
	bodies      int64 // bytes, times bodyFactor, of large request bodies
	calls       int64 // bytes of requests that other nodes sent here
	identities  int64 // bytes of identity operations that wait to be sent
}

// newBudget divides a memory limit in bytes, and the file descriptors that the process may have; math.MaxInt64 is none.
func newBudget(st *settings.Settings, limit, descriptors int64) budget {
	share := func(part int64, cost, most int64) int64 {
		if limit == math.MaxInt64 {
			return most
		}
		return min(most, max(16, limit/part/cost))
	}
	// A connection that cannot be taken waits unseen until its client gives up; one too many is told.
	most := min(int64(st.MaxConnections), descriptors-min(SpareDescriptors, descriptors/2))
	return budget{
		limit:       limit,
		connections: share(4, int64(st.MaxHeaderBytes)+connectionCost, most),
		requests:    share(8, requestCost, int64(st.MaxRequests)),
		writes:      share(8, writeCost, int64(st.MaxWrites)),
		bodies:      share(4, 1, int64(st.MaxBodyBytesTotal)*bodyFactor),
		calls:       share(16, 1, int64(st.MaxBodyBytesTotal)),
		identities:  share(16, 1, 64<<20),
	}
}
