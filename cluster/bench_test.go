package cluster

import (
	"context"
	"testing"
	"time"
)

// The trio of a benchmark runs on one machine and one disk.
func benchTrio(b *testing.B) (leader, follower *Node) {
	var nodes []*Node
	addrs := []string{"127.0.0.1:11801", "127.0.0.1:11802", "127.0.0.1:11803"}
	for i, addr := range addrs {
		fsm := newJournal()
		n, err := Start(context.Background(), Config{
			DataDir: b.TempDir(), ClusterAddr: addr, FSM: fsm, FSMIndex: fsm.at, Logger: testLog(),
			BootstrapExpect: 3, Join: append(append([]string(nil), addrs[:i]...), addrs[i+1:]...),
			Timing: Timing{Discovery: 50 * time.Millisecond},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { n.Stop(context.Background()) })
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if err := n.WaitReady(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range nodes {
		if n.IsLeader() {
			leader = n
		} else {
			follower = n
		}
	}
	return leader, follower
}

func BenchmarkCallFromFollower(b *testing.B) {
	leader, follower := benchTrio(b)
	leader.Handle(1, func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
	each := func(b *testing.B) error {
		_, err := follower.Call(context.Background(), 1, make([]byte, 200))
		return err
	}
	b.Run("c=1", func(b *testing.B) { benchSerial(b, each) })
	b.Run("c=64", func(b *testing.B) { benchParallel(b, each) })
}

func BenchmarkReadIndexFromFollower(b *testing.B) {
	_, follower := benchTrio(b)
	each := func(b *testing.B) error {
		_, err := follower.ReadIndex(context.Background())
		return err
	}
	b.Run("c=1", func(b *testing.B) { benchSerial(b, each) })
	b.Run("c=64", func(b *testing.B) { benchParallel(b, each) })
}

func BenchmarkPropose(b *testing.B) {
	leader, _ := benchTrio(b)
	each := func(b *testing.B) error {
		_, err := leader.Propose(context.Background(), make([]byte, 200))
		return err
	}
	b.Run("c=1", func(b *testing.B) { benchSerial(b, each) })
	b.Run("c=64", func(b *testing.B) { benchParallel(b, each) })
}

func benchSerial(b *testing.B, each func(*testing.B) error) {
	for b.Loop() {
		if err := each(b); err != nil {
			b.Fatal(err)
		}
	}
}

func benchParallel(b *testing.B, each func(*testing.B) error) {
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := each(b); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
