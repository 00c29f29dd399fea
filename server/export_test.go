package server

import "context"

// Term is Raft's, as the node knows it.
func (n *Node) Term() uint64 { return n.cluster.Term() }

// HandedOver is what an answer to a handover of leadership waits for.
func (n *Node) HandedOver(ctx context.Context, term uint64, to string) (string, bool) {
	return n.handedOver(ctx, term, to)
}
