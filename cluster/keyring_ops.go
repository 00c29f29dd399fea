package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// GossipKeys is the ring of the cluster, without the keys themselves.
type GossipKeys struct {
	// Edition grows with each change: the leader's term and a count.
	Edition string
	// Keys are the names of the keys; the first encrypts.
	Keys []string
	// Members tells which members have this edition.
	Members []GossipKeyMember
}

// GossipKeyMember is what one member came to.
type GossipKeyMember struct {
	ID      string
	Current bool   // it has this edition
	Problem string // why not; a node that was away gets it when it is back
}

// CodeGossipKeys marks a refused change of the ring.
const CodeGossipKeys = "gossip_keys"

type keyOperation string

const (
	keysList    keyOperation = "list"
	keysFirst   keyOperation = "first" // the leader's own key becomes everybody's
	keysInstall keyOperation = "install"
	keysUse     keyOperation = "use"
	keysRemove  keyOperation = "remove"
)

type keyRequest struct {
	Operation keyOperation `cbor:"operation"`
	Key       string       `cbor:"key"` // its name
}

// ringMessage carries a ring from a member to another, and that one's back.
type ringMessage struct {
	Ring []byte `cbor:"ring"`
}

// gossipKeysTimeout bounds telling the members.
const gossipKeysTimeout = 3 * time.Second

// GossipKeys lists the keys that gossip is encrypted with, as the leader has them.
func (n *Node) GossipKeys(ctx context.Context) (GossipKeys, error) {
	return onLeader[GossipKeys](ctx, n, kindGossipKeys, keyRequest{Operation: keysList})
}

// InstallGossipKey makes a new random key that decrypts on every member; UseGossipKey has it encrypt.
func (n *Node) InstallGossipKey(ctx context.Context) (GossipKeys, error) {
	return onLeader[GossipKeys](ctx, n, kindGossipKeys, keyRequest{Operation: keysInstall})
}

// UseGossipKey has all members encrypt with an installed key.
func (n *Node) UseGossipKey(ctx context.Context, id string) (GossipKeys, error) {
	return onLeader[GossipKeys](ctx, n, kindGossipKeys, keyRequest{Operation: keysUse, Key: id})
}

// RemoveGossipKey forgets a key that does not encrypt.
func (n *Node) RemoveGossipKey(ctx context.Context, id string) (GossipKeys, error) {
	return onLeader[GossipKeys](ctx, n, kindGossipKeys, keyRequest{Operation: keysRemove, Key: id})
}

// serveGossipKeys is the leader's side: it makes the next edition and tells everybody.
func (n *Node) serveGossipKeys(ctx context.Context, _ string, r keyRequest) (GossipKeys, error) {
	if n.keys == nil {
		return GossipKeys{}, &Error{CodeGossipKeys, "gossip is not encrypted: the cluster has neither a secret nor certificates"}
	}
	term := n.LeaderTerm()
	if _, err := n.ReadIndex(ctx); err != nil {
		return GossipKeys{}, fmt.Errorf("%w: %w", ErrNotLeader, err) // a leader that was replaced must make no edition
	}
	if term == 0 || n.LeaderTerm() != term {
		return GossipKeys{}, ErrNotLeader
	}
	ring := n.keys.current()
	if ring.Term == 0 && n.cfg.Secret == "" && r.Operation == keysList {
		r.Operation = keysFirst // until then every member has a key of its own
	}
	next, err := changeRing(ring, r)
	if err != nil {
		return GossipKeys{}, err
	}
	if r.Operation != keysList {
		next.Term, next.Count = max(term, ring.Term), 1
		if next.Term == ring.Term {
			next.Count += ring.Count
		}
		newer, err := n.keys.adopt(next)
		if err != nil {
			return GossipKeys{}, err
		}
		if !newer { // somebody else's change was faster, or a ring of a later term is here
			return GossipKeys{}, &Error{CodeGossipKeys, "the keys were changed by somebody else meanwhile: look at them and try again"}
		}
		n.log.Warn("gossip keys changed", "operation", r.Operation, "keys", len(next.Keys), "in_use", keyID(next.Keys[0]))
	}
	out := GossipKeys{Edition: fmt.Sprintf("%d.%d", next.Term, next.Count)}
	for _, k := range next.Keys {
		out.Keys = append(out.Keys, keyID(k))
	}
	out.Members = n.spreadRing(ctx, next)
	return out, nil
}

// changeRing is the ring after an operation.
func changeRing(ring gossipRing, r keyRequest) (gossipRing, error) {
	keys := slices.Clone(ring.Keys)
	at := ring.find(r.Key)
	switch r.Operation {
	case keysList:
		return ring, nil
	case keysFirst:
		return gossipRing{Keys: keys}, nil
	case keysInstall:
		if len(keys) >= maxGossipKeys {
			return ring, &Error{CodeGossipKeys, fmt.Sprintf("there are %d keys already: remove some first", len(keys))}
		}
		return gossipRing{Keys: append(keys, newGossipKey())}, nil
	}
	switch {
	case at < 0:
		return ring, &Error{CodeUnknownMember, fmt.Sprintf("no gossip key is called %q", r.Key)}
	case r.Operation == keysUse:
		key := keys[at]
		return gossipRing{Keys: slices.Insert(slices.Delete(keys, at, at+1), 0, key)}, nil
	case r.Operation == keysRemove && at == 0:
		return ring, &Error{CodeGossipKeys, "this key encrypts: use another one first"}
	case r.Operation == keysRemove:
		return gossipRing{Keys: slices.Delete(keys, at, at+1)}, nil
	}
	return ring, &Error{CodeGossipKeys, "unknown operation"}
}

// spreadRing gives the ring to every other member at the same time.
func (n *Node) spreadRing(ctx context.Context, ring gossipRing) []GossipKeyMember {
	ctx, cancel := context.WithTimeout(ctx, gossipKeysTimeout)
	defer cancel()
	servers := n.servers()
	members := make([]GossipKeyMember, len(servers))
	var telling sync.WaitGroup
	for i, s := range servers {
		members[i].ID = string(s.ID)
		if string(s.ID) == n.id {
			members[i].Current = true
			continue
		}
		telling.Go(func() {
			theirs, err := n.exchangeRing(ctx, ring, func(payload []byte) ([]byte, error) {
				return n.caller.call(ctx, string(s.Address), kindGossipRing, 0, payload)
			})
			switch {
			case err != nil:
				members[i].Problem = err.Error()
			case theirs.Term != ring.Term || theirs.Count != ring.Count:
				members[i].Problem = "it has other keys"
			default:
				members[i].Current = true
			}
		})
	}
	telling.Wait()
	return members
}

// exchangeRing gives a ring to another node, and returns what that one has then.
func (n *Node) exchangeRing(_ context.Context, ring gossipRing, call func([]byte) ([]byte, error)) (gossipRing, error) {
	raw, err := n.keys.encode(ring)
	if err != nil {
		return gossipRing{}, err
	}
	reply, err := ask[ringMessage](ringMessage{raw}, call)
	if err != nil {
		return gossipRing{}, err
	}
	return n.keys.decode(reply.Ring)
}

// serveGossipRing takes a newer ring over and answers with what this node has then.
func (n *Node) serveGossipRing(_ context.Context, from string, m ringMessage) (ringMessage, error) {
	if n.keys == nil {
		return ringMessage{}, &Error{CodeGossipKeys, "gossip is not encrypted on this node"}
	}
	ring, err := n.keys.decode(m.Ring)
	if err != nil {
		return ringMessage{}, &Error{CodeGossipKeys, err.Error()}
	}
	if ring.Term > 0 { // else it is what a node began with
		n.takeRing(ring, from)
	}
	raw, err := n.keys.encode(n.keys.current())
	return ringMessage{raw}, err
}

func (n *Node) takeRing(ring gossipRing, from string) {
	newer, err := n.keys.adopt(ring)
	if err != nil {
		n.log.Error("gossip keys", "error", err)
	}
	if newer {
		n.log.Info("gossip keys changed", "from", from, "keys", len(ring.Keys), "in_use", keyID(ring.Keys[0]))
	}
}

// runGossipKeys compares this node's ring with the leader's now and then: a
// node that was away while keys changed gets them by the cluster port, which
// needs none of them. The leader of a cluster without a secret makes the first.
func (n *Node) runGossipKeys(ctx context.Context) {
	if n.keys == nil {
		return
	}
	for {
		n.compareRing(ctx)
		if !pause(ctx, n.cfg.Timing.GossipKeys) {
			return
		}
	}
}

func (n *Node) compareRing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, gossipKeysTimeout)
	defer cancel()
	ring := n.keys.current()
	if n.IsLeader() {
		if ring.Term == 0 && n.cfg.Secret == "" {
			if _, err := n.serveGossipKeys(ctx, n.id, keyRequest{Operation: keysFirst}); err != nil {
				n.log.Debug("first gossip keys", "error", err)
			}
		}
		return
	}
	theirs, err := n.exchangeRing(ctx, ring, func(payload []byte) ([]byte, error) {
		return n.callLeader(ctx, kindGossipRing, payload)
	})
	if err == nil && theirs.Term > 0 {
		n.takeRing(theirs, "the leader")
	}
}
