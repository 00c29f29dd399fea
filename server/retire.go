package server

const msgRemoved = "This node was removed from its cluster. Ask another node; to bring this one back, empty its data directory and start it again."

// retire stops serving: this node was removed from its cluster, and what it knows gets older and older. The process goes on, so that whoever
// looks is told why.
func (n *Node) retire() {
	n.server.retired.Store(true)
	go n.streams.Stop()     // clients connect to another node
	n.server.closeStreams() // and so do consoles
}
