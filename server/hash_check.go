package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
)

// fatal ends the process after something that no node may go on from: the data directory stays as it is, for whoever looks into it.
func (n *Node) fatal(err error) {
	n.log.Error("node stops", "error", err)
	if n.OnFatal != nil {
		n.OnFatal(err)
		return
	}
	os.Exit(1)
}

// askHashes asks every member, this node included, for its state hash at a mark.
func (n *Node) askHashes(ctx context.Context, mark uint64) fsm.Ballot {
	b := fsm.Ballot{Hashes: map[string]string{}}
	question := binary.BigEndian.AppendUint64(nil, mark)
	var asked sync.WaitGroup
	var mu sync.Mutex // the answers come on goroutines of a moment; nothing lives on to be an actor
	for _, m := range n.cluster.Members() {
		if m.Voter {
			b.Voters = append(b.Voters, m.ID)
		} else {
			b.Others++
		}
		asked.Go(func() {
			answer, err := n.cluster.CallNode(ctx, m.ID, callStateHash, question)
			if err != nil {
				n.log.Debug("no state hash", "peer", m.ID, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			b.Hashes[m.ID] = string(answer)
		})
	}
	asked.Wait()
	return b
}

// serveHash answers askHashes once this node has applied the mark.
func (n *Node) serveHash(ctx context.Context, _ string, question []byte) ([]byte, error) {
	if len(question) != 8 {
		return nil, fmt.Errorf("%w: a question of %d bytes", cluster.ErrUnavailable, len(question))
	}
	mark := binary.BigEndian.Uint64(question)
	if err := n.fsm.Applied().Wait(ctx, mark); err != nil {
		return nil, err
	}
	hash, ok := n.fsm.Mark(mark)
	if !ok {
		return nil, fmt.Errorf("%w: entry %d was not applied here one by one", cluster.ErrUnavailable, mark)
	}
	return []byte(hash), nil
}

// hashCheckStatus is the last comparison of state hashes as this node knows it.
type hashCheckStatus struct {
	Index  uint64   `json:"index"`  // the hashes are as of this entry; 0: none was compared since the start
	Agreed int      `json:"agreed"` // nodes
	Differ []string `json:"differ"` // ids of nodes that differed, and stopped
}

func (n *Node) hashCheckStatus() hashCheckStatus {
	v := n.fsm.Verdict()
	return hashCheckStatus{Index: v.Mark, Agreed: v.Agreed, Differ: append([]string{}, v.Differ...)}
}
