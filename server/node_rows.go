package server

import (
	"net"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/server/route"
)

// The nodes as every account may see them: enough to go on at another one when this one is lost. Superusers see more under cluster/.

type nodeList struct {
	Node   string     `json:"node"`   // who tells
	Leader *string    `json:"leader"` // node id; null: none is known
	Nodes  []nodeInfo `json:"nodes"`
}

type nodeInfo struct {
	ID    string `json:"id"`
	URL   string `json:"url"` // of the API; empty: not known
	Ready bool   `json:"ready"`
}

func (n *Node) nodeRows() []route.Row {
	return []route.Row{{Method: "GET", Path: "/api/flagraft/v1/nodes/", OperationID: "flagraft_v1_nodes_list", Tag: "Cluster", Kind: route.Local, Auth: route.Admin,
		Summary: "The nodes and where their API is, as this node knows them.", Handler: route.Func(n.listNodes)}}
}

func (n *Node) listNodes(*route.Call, struct{}) (nodeList, error) {
	list := nodeList{Node: n.cluster.ID(), Nodes: []nodeInfo{}}
	for _, m := range n.cluster.Members() {
		if m.Leader {
			list.Leader = &m.ID
		}
		list.Nodes = append(list.Nodes, nodeInfo{ID: m.ID, URL: n.apiOrigin(m), Ready: m.Ready})
	}
	return list, nil
}

// apiOrigin is the origin of a member's API, or "". A member that advertises a port alone is asked at the host of its cluster address.
func (n *Node) apiOrigin(m cluster.Member) string {
	_, port, err := net.SplitHostPort(m.API)
	host, _, bad := net.SplitHostPort(m.Address)
	if err != nil || port == "0" || bad != nil {
		return ""
	}
	return n.originOf(m.API, host)
}

// originOf is an API's listen or advertised address as browsers write it; host stands for all addresses. All nodes speak HTTPS, or none does.
func (n *Node) originOf(addr, host string) string {
	if h, port, err := net.SplitHostPort(addr); err == nil && (h == "" || net.ParseIP(h).IsUnspecified()) {
		addr = net.JoinHostPort(host, port)
	}
	if n.settings.TLSCert != "" {
		return "https://" + addr
	}
	return "http://" + addr
}

// peerOrigins are the APIs of the other nodes, for the console's policy.
func (n *Node) peerOrigins() (origins []string) {
	for _, m := range n.cluster.Members() {
		if origin := n.apiOrigin(m); m.ID != n.cluster.ID() && origin != "" {
			origins = append(origins, origin)
		}
	}
	return origins
}
