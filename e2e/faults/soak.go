package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Soak says how a soak runs: one cluster of three, one fault a minute, and load
// between the faults. Two nodes live through all of it; the third is killed now
// and then. What a node has piled up shows beside the third one, started anew
// at the end with the same state.
type Soak struct {
	Config
	Length time.Duration
	// Every is the time from one fault to the next.
	Every time.Duration
	// Identities are stored before the soak begins, so that memory is mostly state.
	Identities int
}

// settleTime is how long a new node works before it is compared, to fill its pools and caches.
const settleTime = 10 * time.Second

// fresh is the node that is killed, and started anew at the end.
const fresh = 2

// SoakResult is what a soak measured.
type SoakResult struct {
	Rounds   int       `json:"rounds"`
	Failures []Failure `json:"failures,omitempty"`
	Requests int64     `json:"requests"` // of the load between the faults
	// First and Last are samples of every node, at rest: before the first fault
	// and at the end, when the third was just started.
	First []Sample `json:"first"`
	Last  []Sample `json:"last"`
}

// soakKinds are the faults that end no process, and the end of the third node.
func soakKinds() []Fault {
	const s = time.Second
	kinds := slices.DeleteFunc(Kinds(), func(f Fault) bool {
		return f.Alone || strings.HasPrefix(f.Name, "kill") || f.Name == "restart"
	})
	kill := func(ctx context.Context, c *Cluster, _ *rand.Rand) (func() error, error) {
		c.Kill(fresh)
		return func() error { return c.Restart(ctx, fresh) }, nil
	}
	return append(kinds, Fault{Name: "kill the third", Least: s, Most: 5 * s, Inject: kill})
}

// RunSoak plays the soak. It ends early when a check of a round fails.
func RunSoak(ctx context.Context, s Soak) (res SoakResult, err error) {
	dir := filepath.Join(s.Dir, fmt.Sprintf("soak-%d", s.Seed))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return res, err
	}
	c, err := StartCluster(ctx, s.Binary, dir, 3, s.Seed)
	if err != nil {
		return res, err
	}
	defer c.Close()
	load := newSoakLoad(c, s.Identities)
	if err := load.fill(ctx); err != nil {
		return res, err
	}
	load.settle(ctx)
	if res.First, err = sampleAll(ctx, c); err != nil {
		return res, err
	}
	s.say("before", res.First)
	if err := s.play(ctx, c, load, &res); err != nil || len(res.Failures) > 0 {
		return res, err
	}
	res.Requests = load.requests.Load()
	c.Kill(fresh)
	if err := c.Restart(ctx, fresh); err != nil {
		return res, err
	}
	if _, err := c.OneState(ctx); err != nil {
		return res, err
	}
	load.settle(ctx)
	if res.Last, err = sampleAll(ctx, c); err != nil {
		return res, err
	}
	s.say("after", res.Last)
	if err := s.keepProfiles(ctx, c); err != nil {
		return res, err
	}
	if !s.Keep {
		c.Stop()
		err = os.RemoveAll(dir)
	}
	return res, err
}

// play plays a round of one fault at each turn, with load until the next.
func (s *Soak) play(ctx context.Context, c *Cluster, load *soakLoad, res *SoakResult) error {
	kinds := soakKinds()
	kinds = slices.DeleteFunc(kinds, func(f Fault) bool { return !f.possible(c) })
	draw := source(s.Seed)
	ends := time.Now().Add(s.Length)
	for next := time.Now(); next.Before(ends) && ctx.Err() == nil; res.Rounds++ {
		next = next.Add(s.Every)
		step := Schedule(draw, kinds, &kinds[res.Rounds%len(kinds)])[:1]
		round, err := NewRound(c, draw.Uint64(), step, "", s.Log)
		if err != nil {
			return err
		}
		round.Play(ctx)
		if res.Failures = round.Failures(); len(res.Failures) > 0 {
			for _, f := range res.Failures {
				s.Log("  FAILED %s: %s", f.Check, f.Detail)
			}
			return nil
		}
		load.run(ctx, time.Until(next))
		if samples, err := sampleAll(ctx, c); err == nil {
			s.say(fmt.Sprintf("%d: %s", res.Rounds+1, step[0].Fault.Name), samples)
		}
	}
	return ctx.Err()
}

func (s *Soak) say(when string, samples []Sample) {
	for i, m := range samples {
		s.Log("%s: node %d: %s", when, i, m)
	}
}

// keepProfiles writes what the nodes' heaps hold beside the cluster's folder, for
// `go tool pprof -diff_base` of a node that lived and the one just started.
func (s *Soak) keepProfiles(ctx context.Context, c *Cluster) error {
	for i, n := range c.Nodes {
		m := n.Client()
		m.Base = "http://" + n.Management
		a, err := m.Must(ctx, "GET", "/debug/pprof/heap?gc=1", nil, 200)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.Dir, fmt.Sprintf("soak-%d-heap-%d.pb.gz", s.Seed, i)), a.Body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Grown is the largest part by which a node that lived through the soak holds
// more memory than the one that was started at its end.
func (r SoakResult) Grown() float64 {
	grown := 0.0
	for _, m := range r.Last[:fresh] {
		grown = max(grown, float64(m.Heap)/float64(r.Last[fresh].Heap)-1)
	}
	return grown
}

// sampleAll measures every node at rest.
func sampleAll(ctx context.Context, c *Cluster) ([]Sample, error) {
	var wait sync.WaitGroup
	samples, errs := make([]Sample, len(c.Nodes)), make([]error, len(c.Nodes))
	for i := range c.Nodes {
		wait.Go(func() { samples[i], errs[i] = sample(ctx, c, i) })
	}
	wait.Wait()
	return samples, errors.Join(errs...)
}
