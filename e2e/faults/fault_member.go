package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// clusterAPI is where members are managed.
const clusterAPI = "/api/flagraft/v1/cluster/"

// memberFaults change who the members are and who leads them.
func memberFaults() []Fault {
	const s = time.Second
	return []Fault{
		{Name: "transfer", Least: s, Most: 2 * s, Possible: managed, Inject: transfer},
		{Name: "replace", Alone: true, Least: s / 2, Most: 2 * s, Inject: replace},
		{Name: "remove and add", Alone: true, Least: s / 2, Most: 2 * s, Possible: managed, Inject: removeAndAdd},
	}
}

// managed tells whether the binary has operations on members.
func managed(c *Cluster) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := c.Home.Admin.Must(ctx, "GET", clusterAPI, nil, http.StatusOK)
	return err == nil
}

// transfer hands leadership over, to a node of the leader's choice or to a certain one, and back and forth.
func transfer(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	for range 1 + r.IntN(4) {
		via, to := r.IntN(len(c.Nodes)), r.IntN(2*len(c.Nodes))
		body := object{}
		if to < len(c.Nodes) {
			body["node"] = c.idOf(ctx, to)
		}
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		// Refusals are no failure: the node meant may lag, be down, or lead already.
		_, _ = c.At(via, c.Home.Admin).Do(one, "POST", clusterAPI+"transfer/", body)
		cancel()
	}
	return nil, nil
}

// idOf is the id of a node, as it says itself; "" if it does not answer.
func (c *Cluster) idOf(ctx context.Context, i int) string {
	s, _ := c.Nodes[i].Status(ctx)
	return s.NodeID
}

// replace loses a node with its disk; a fresh one takes its address. The others must know that the old one is gone before they let the new one in.
func replace(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen := r.IntN(len(c.Nodes))
	if leader := c.leaderOr(ctx, r); r.IntN(3) == 0 {
		chosen = leader
	}
	c.Kill(chosen)
	if err := c.Wipe(chosen); err != nil {
		return nil, fmt.Errorf("wipe node %d: %w", chosen, err)
	}
	return func() error { return c.Restart(ctx, chosen) }, nil
}

// removeAndAdd takes a member out as an operator does, and later has a fresh node join in its place.
func removeAndAdd(ctx context.Context, c *Cluster, r *rand.Rand) (func() error, error) {
	chosen, via := r.IntN(len(c.Nodes)), r.IntN(len(c.Nodes)-1)
	if leader := c.leaderOr(ctx, r); r.IntN(3) == 0 {
		chosen = leader
	}
	if via >= chosen {
		via++
	}
	id := c.idOf(ctx, chosen)
	if id == "" {
		return nil, fmt.Errorf("node %d does not tell its id", chosen)
	}
	c.MayEnd(chosen)
	c.places[chosen].serve(false) // a removed member is no member, and serves nobody
	path := clusterAPI + "members/" + id + "/"
	for end := time.Now().Add(RecoverWithin); ; {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		a, err := c.At(via, c.Home.Admin).Do(one, "DELETE", path, nil)
		cancel()
		if err == nil && (a.Status == http.StatusNoContent || a.Status == http.StatusNotFound) {
			break
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return nil, fmt.Errorf("node %d is not removed: %w", chosen, errors.Join(err, fmt.Errorf("%+v", a)))
		}
		sleep(ctx, 100*time.Millisecond)
	}
	return func() error {
		c.Kill(chosen)
		return errors.Join(c.Wipe(chosen), c.Restart(ctx, chosen))
	}, nil
}

// wholeWithin bounds the time until a fresh member has its vote. It is no part of recovery: the cluster works
// meanwhile, and waits on purpose until the newcomer has been stable for a while.
const wholeWithin = time.Minute

// waitWhole waits for every node to be a voter again, so that the next round starts with a whole cluster.
func (r *Round) waitWhole(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	began, state := time.Now(), ""
	for ctx.Err() == nil {
		if leader := r.c.LeaderNow(ctx); leader >= 0 {
			voters := 0
			s, err := r.c.Nodes[leader].Status(ctx)
			for _, p := range s.Peers {
				if p.Voter {
					voters++
				}
			}
			if err == nil && voters == len(r.c.Nodes) && len(s.Peers) == voters {
				if took := time.Since(began); took > time.Second {
					r.note("every node has its vote after %v", took.Round(100*time.Millisecond))
				}
				return
			}
			state = fmt.Sprintf("%+v", s.Peers)
		}
		sleep(ctx, 200*time.Millisecond)
	}
	r.fail("members", "%d voters were not there %v after healing: %s", len(r.c.Nodes), wholeWithin, state)
}
