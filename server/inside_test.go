package server

// ForgetTraces makes the node one of a version that knows no batches of identity operations with a trace.
func (n *Node) ForgetTraces() { n.cluster.Handle(callTracedIdentities, nil) }
