package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// readers is how many ask the stopped leader at once.
const readers = 150

// StaleLeader stops the leader, has the others choose a new one and acknowledge a
// write, lets readers ask the old one, and wakes it: a leader that answers before it
// has made sure that it still leads answers with the past. It returns whether what
// the clients saw is linearizable.
func StaleLeader(ctx context.Context, c *Cluster, seed uint64, log func(string, ...any)) (porcupine.CheckResult, error) {
	r, err := NewRound(c, seed, nil, "", log)
	if err != nil {
		return porcupine.Unknown, err
	}
	k, err := r.newRegister(ctx, fmt.Sprintf("stale%016x", seed))
	if err != nil {
		return porcupine.Unknown, err
	}
	old := c.LeaderNow(ctx)
	if old < 0 || r.write(ctx, "reg write", k, 1, old, "before").Result != OK {
		return porcupine.Unknown, errors.New("the cluster takes no writes before anything was done to it")
	}
	if err := c.Pause(old); err != nil {
		return porcupine.Unknown, err
	}
	if !r.writeElsewhere(ctx, k, old) {
		return porcupine.Unknown, errors.New("the others take no writes")
	}
	var wait sync.WaitGroup
	for i := range readers {
		wait.Go(func() { r.read(ctx, k, 100+i, old) })
	}
	sleep(ctx, 200*time.Millisecond) // until the questions wait in the old leader's sockets
	err = c.Resume(old)
	wait.Wait()
	r.read(ctx, k, 2, old)
	return linearizable(registerModel(), r.rec.Ops("reg ")), err
}

// writeElsewhere writes through the other nodes until one acknowledges.
func (r *Round) writeElsewhere(ctx context.Context, k *register, not int) bool {
	for n := 1; n < 200; n++ {
		node := n % len(r.c.Nodes)
		if node == not {
			continue
		}
		one, cancel := context.WithTimeout(ctx, time.Second)
		o := r.write(one, "reg write", k, 10+n, node, fmt.Sprintf("after %d", n))
		cancel()
		if o.Result == OK {
			return true
		}
	}
	return false
}
