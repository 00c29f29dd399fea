package server

import (
	"context"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/route"
)

// gossipKeys are the keys that gossip is encrypted with; nobody is told the keys themselves.
type gossipKeys struct {
	Edition string            `json:"edition"` // grows with each change: the leader's term and a count
	Keys    []gossipKey       `json:"keys"`
	Members []gossipKeyMember `json:"members"`
}

type gossipKey struct {
	ID    string `json:"id"`
	InUse bool   `json:"in_use"` // it encrypts; all decrypt
}

type gossipKeyMember struct {
	ID      string  `json:"id"`
	Current bool    `json:"current"` // it has this edition
	Problem *string `json:"problem"` // why not; it gets the keys when it is back
}

type gossipKeyRef struct {
	Key string `path:"key"`
}

func (n *Node) gossipKeyRows() []route.Row {
	const list, one, use = "/api/flagraft/v1/cluster/gossip-keys/", "/api/flagraft/v1/cluster/gossip-keys/{key}/", "/api/flagraft/v1/cluster/gossip-keys/{key}/use/"
	row := func(method, path, id string, status int, summary string, h route.Handler) route.Row {
		return route.Row{Method: method, Path: path, OperationID: "flagraft_v1_cluster_gossip_keys_" + id, Tag: "Cluster", Summary: summary,
			Kind: route.Operation, Auth: route.Superuser, Status: status, Handler: h}
	}
	return []route.Row{
		row("GET", list, "list", 200, "The keys that gossip is encrypted with, by name, and who has them.", route.Func(n.listGossipKeys)),
		row("POST", list, "create", 201, "Install a new key on every member. It decrypts; use has it encrypt.", route.Func(n.installGossipKey)),
		row("POST", use, "use", 200, "Encrypt with an installed key.", route.Func(n.useGossipKey)),
		row("DELETE", one, "destroy", 200, "Forget a key that does not encrypt.", route.Func(n.removeGossipKey)),
	}
}

func (n *Node) listGossipKeys(c *route.Call, _ struct{}) (gossipKeys, error) {
	return renderGossipKeys(c, n.cluster.GossipKeys)
}

func (n *Node) installGossipKey(c *route.Call, _ struct{}) (gossipKeys, error) {
	n.log.WarnContext(c.Context, "gossip key asked for", "by", admin.From(c).Principal.Author().Name)
	return renderGossipKeys(c, n.cluster.InstallGossipKey)
}

func (n *Node) useGossipKey(c *route.Call, in gossipKeyRef) (gossipKeys, error) {
	n.log.WarnContext(c.Context, "use of a gossip key asked for", "key", in.Key, "by", admin.From(c).Principal.Author().Name)
	return renderGossipKeys(c, func(ctx context.Context) (cluster.GossipKeys, error) { return n.cluster.UseGossipKey(ctx, in.Key) })
}

func (n *Node) removeGossipKey(c *route.Call, in gossipKeyRef) (gossipKeys, error) {
	n.log.WarnContext(c.Context, "removal of a gossip key asked for", "key", in.Key, "by", admin.From(c).Principal.Author().Name)
	return renderGossipKeys(c, func(ctx context.Context) (cluster.GossipKeys, error) { return n.cluster.RemoveGossipKey(ctx, in.Key) })
}

func renderGossipKeys(c *route.Call, run func(context.Context) (cluster.GossipKeys, error)) (gossipKeys, error) {
	ctx, cancel := context.WithTimeout(c.Context, operationTimeout)
	defer cancel()
	k, err := run(ctx)
	if err != nil {
		return gossipKeys{}, operationError(err)
	}
	out := gossipKeys{Edition: k.Edition, Keys: []gossipKey{}, Members: []gossipKeyMember{}}
	for i, id := range k.Keys {
		out.Keys = append(out.Keys, gossipKey{id, i == 0})
	}
	for _, m := range k.Members {
		member := gossipKeyMember{ID: m.ID, Current: m.Current}
		if m.Problem != "" {
			member.Problem = &m.Problem
		}
		out.Members = append(out.Members, member)
	}
	return out, nil
}
