package server

import (
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
)

// What measurements in this process reach without a socket.

// Handle serves one request as a connection's would be served, once its head and body are read.
func (n *Node) Handle(ctx *fasthttp.RequestCtx) { n.server.handle(ctx) }

// Identities carries this node's identity operations to the leader.
func (n *Node) Identities() *fsm.IdentityWriter { return n.identities }

// Views are this node's.
func (n *Node) Views() *fsm.Views { return n.views }

// CommitIndex is the newest entry that this node knows to be committed.
func (n *Node) CommitIndex() uint64 { return n.cluster.CommitIndex() }
