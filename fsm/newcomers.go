package fsm

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/fsm/identity"
)

// ErrNewcomers says that the environment got as many new identities in this
// second as it may.
var ErrNewcomers = fmt.Errorf("too many new identities in this second: %w", ErrOverloaded)

// newcomers bounds the identities that a node creates in one environment within
// one second of its clock. Requests carry operations of one environment; one
// that creates several is taken while there is room for one, so that it is not
// refused for ever.
//
// The [IdentityWriter] owns it.
type newcomers struct {
	share   func() int // of this node a second; 0 = no bound
	second  int64
	limit   int            // the share in this second
	created map[uint64]int // by environment, in this second
	refused atomic.Uint64  // requests, for the metric
}

// admit counts the identities that ops would create, or refuses all of them.
func (n *newcomers) admit(s *State, ops []identity.Op, now time.Time) error {
	if n.share == nil || len(ops) == 0 {
		return nil
	}
	if second := now.Unix(); second != n.second {
		n.second, n.limit, n.created = second, n.share(), map[uint64]int{}
	}
	if n.limit == 0 || !s.Born() {
		return nil
	}
	fresh := n.fresh(s, ops)
	if fresh == 0 {
		return nil
	}
	environment := ops[0].Environment
	if n.created[environment] >= n.limit {
		n.refused.Add(1)
		return ErrNewcomers
	}
	n.created[environment] += fresh
	return nil
}

// fresh counts the operations that create an identity. One that is on its way
// already is counted again.
func (*newcomers) fresh(s *State, ops []identity.Op) int {
	count := 0
	for i := range ops {
		if ops[i].Kind != identity.KindUpsert {
			continue
		}
		if _, known := s.Identities().Environment(ops[i].Environment).Lookup(ops[i].Identifier); !known {
			count++
		}
	}
	return count
}
