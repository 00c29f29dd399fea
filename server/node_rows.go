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

// apiOrigin is the address of a member's API as browsers write it. A member that advertises a port alone is asked at the host of its cluster
// address; all nodes speak HTTPS, or none does.
func (n *Node) apiOrigin(m cluster.Member) string {
	host, port, err := net.SplitHostPort(m.API)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(m.Address); err != nil {
			return ""
		}
	}
	scheme := "http://"
	if n.settings.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
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
