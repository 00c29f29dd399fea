package cluster

import (
	"context"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Kinds from firstInternalKind on are the package's own.
const (
	firstInternalKind uint8 = 240

	kindHello       uint8 = 240
	kindPledge      uint8 = 241
	kindRelease     uint8 = 242
	kindPledgeState uint8 = 243
	kindJoin        uint8 = 244
	kindReadIndex   uint8 = 245
	kindHeartbeat   uint8 = 246
	kindTerm        uint8 = 247
	kindStats       uint8 = 248
	kindRemove      uint8 = 249
	kindRemoved     uint8 = 250
	kindTransfer    uint8 = 251
	kindMembership  uint8 = 252
	kindOverview    uint8 = 253
	kindGossipKeys  uint8 = 254
	kindGossipRing  uint8 = 255
)

// Handle registers the handler for calls of a kind (0 to 239); nil removes it.
// Calls of a kind without a handler fail with ErrUnavailable.
func (n *Node) Handle(kind uint8, h Handler) {
	if kind >= firstInternalKind {
		panic(fmt.Sprintf("cluster: call kind %d is reserved", kind))
	}
	n.handle(kind, h)
}

func (n *Node) handle(kind uint8, h Handler) {
	if h == nil {
		n.callee.handlers[kind].Store(nil)
		return
	}
	n.callee.handlers[kind].Store(&h)
}

// Call sends payload to the leader's handler and returns its answer; on the
// leader itself the handler runs here and now. Only a node that leads executes
// it, so a call is passed on once at most. The payload must not be changed any
// more. Errors: ErrNotLeader (no leader known, or it is not the one any more),
// ErrUnavailable, ErrUnknownOutcome, ErrTooLarge, or the handler's.
func (n *Node) Call(ctx context.Context, kind uint8, payload []byte) ([]byte, error) {
	return n.callLeader(ctx, kind, payload)
}

func (n *Node) callLeader(ctx context.Context, kind uint8, payload []byte) ([]byte, error) {
	if n.stopped.Load() {
		return nil, ErrStopped
	}
	addr, id := n.raft.LeaderWithID()
	switch {
	case id == "":
		return nil, fmt.Errorf("%w: no leader is known", ErrNotLeader)
	case string(id) == n.id:
		return n.callee.handle(ctx, n.id, kind, flagLeader, payload)
	}
	return n.caller.call(ctx, string(addr), kind, flagLeader, payload)
}

// CallNode sends payload to the handler of the node with this id, which may be
// the node itself.
func (n *Node) CallNode(ctx context.Context, nodeID string, kind uint8, payload []byte) ([]byte, error) {
	if n.stopped.Load() {
		return nil, ErrStopped
	}
	if nodeID == n.id {
		return n.callee.handle(ctx, n.id, kind, 0, payload)
	}
	addr := n.addressOf(nodeID)
	if addr == "" {
		return nil, fmt.Errorf("%w: node %s is not known", ErrUnavailable, nodeID)
	}
	return n.caller.call(ctx, addr, kind, 0, payload)
}

func (n *Node) addressOf(nodeID string) string {
	for _, s := range n.servers() {
		if string(s.ID) == nodeID {
			return string(s.Address)
		}
	}
	if p, ok := n.peers.get(nodeID); ok {
		return p.Address
	}
	return ""
}

// handleInternal registers the package's own calls.
func (n *Node) handleInternal() {
	n.handle(kindReadIndex, n.serveReadIndex)
	n.handle(kindHeartbeat, message(n.serveHeartbeat))
	n.handle(kindTerm, message(n.serveTerm))
	n.handle(kindHello, message(n.serveHello))
	n.handle(kindPledge, message(n.servePledge))
	n.handle(kindRelease, message(n.serveRelease))
	n.handle(kindPledgeState, message(n.servePledgeState))
	n.handle(kindJoin, message(n.serveJoin))
	n.handle(kindStats, message(n.serveStats))
	n.handle(kindRemove, message(n.serveRemove))
	n.handle(kindRemoved, message(n.serveRemoved))
	n.handle(kindTransfer, message(n.serveTransfer))
	n.handle(kindMembership, message(n.serveMembership))
	n.handle(kindOverview, message(n.serveOverview))
	n.handle(kindGossipKeys, message(n.serveGossipKeys))
	n.handle(kindGossipRing, message(n.serveGossipRing))
}

// wire encodes messages; times keep their fractions.
var wire = func() cbor.EncMode {
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		panic("cluster: " + err.Error()) // wrong options
	}
	return mode
}()

// message makes a Handler of a function over typed messages (CBOR).
func message[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) Handler {
	return func(ctx context.Context, from string, payload []byte) ([]byte, error) {
		var in In
		if err := cbor.Unmarshal(payload, &in); err != nil {
			return nil, fmt.Errorf("%w: bad message: %w", ErrUnavailable, err)
		}
		out, err := f(ctx, from, in)
		if err != nil {
			return nil, err
		}
		return wire.Marshal(out)
	}
}

// ask sends a typed message by way of call.
func ask[Out any](in any, call func(payload []byte) ([]byte, error)) (Out, error) {
	var out Out
	payload, err := wire.Marshal(in)
	if err != nil {
		return out, err
	}
	answer, err := call(payload)
	if err != nil {
		return out, err
	}
	if err := cbor.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("%w: bad answer: %w", ErrUnknownOutcome, err)
	}
	return out, nil
}

// askAddr sends a typed message to an address.
func askAddr[Out any](ctx context.Context, n *Node, addr string, kind uint8, in any) (Out, error) {
	return ask[Out](in, func(payload []byte) ([]byte, error) {
		return n.caller.call(ctx, addr, kind, 0, payload)
	})
}
