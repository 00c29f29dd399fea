// Package server is a flagraft node: it puts the state machine, the cluster and the HTTP API together (node.go) and serves requests.
//
// A request enters in http.go, is matched by the route table in dispatch.go, and goes one of three ways by its row: a raw row answers on the
// connection's own buffers (package sdk); a read runs on applied state, after consistency.go has made sure it is new enough; a write is sent
// to the leader as a whole (forward.go), who runs it as one transaction (package admin), and is answered once this node's View shows it.
package server
