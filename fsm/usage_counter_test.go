package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// newTestCounter counts for an environment, 1. What it sends is applied, and then answered with fail.
func newTestCounter(t *testing.T, clock func() time.Time, fail *error) (*UsageCounter, *FSM) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "k"})
		return nil
	})
	require.NoError(t, err)
	c := NewUsageCounter(p.fsm, "n", clock, func(_ context.Context, entry []byte) error {
		p.apply(entry)
		return *fail
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(c.Stop)
	return c, p.fsm
}

// TestUsageCountsOnce loses the answer to a batch that was applied, and wants
// every request counted once.
func TestUsageCountsOnce(t *testing.T) {
	lost := errors.New("answer lost")
	var fail error
	c, f := newTestCounter(t, time.Now, &fail)
	count := func() (n int64) {
		for u := range Usages.All(f.State()) {
			require.Equal(t, UsageFlags, u.Kind)
			n += u.Count
		}
		return n
	}

	c.Request(1, UsageFlags, RequestClient{})
	c.Request(1, UsageFlags, RequestClient{})
	fail = lost
	require.ErrorIs(t, c.Flush(t.Context()), lost)
	c.Request(1, UsageFlags, RequestClient{})
	fail = nil
	require.NoError(t, c.Flush(t.Context()), "the lost batch, again")
	require.EqualValues(t, 2, count())
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 3, count())
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 3, count())
}

// A counter is one row a UTC day, however often it is flushed and whatever counts.
func TestUsageIsByDay(t *testing.T) {
	day := time.Now().UTC().Truncate(24 * time.Hour)
	now := day
	c, f := newTestCounter(t, func() time.Time { return now }, new(error))
	for _, now = range []time.Time{day, day.Add(13 * time.Hour), day.Add(24*time.Hour - 1), day.Add(24 * time.Hour)} {
		c.Request(1, UsageFlags, RequestClient{})
		c.Add(1, UsageEvaluation, 7, "", 5)
		require.NoError(t, c.Flush(t.Context()))
	}
	counts := map[UsageKind]map[Time]int64{UsageFlags: {}, UsageEvaluation: {}}
	for u := range Usages.All(f.State()) {
		counts[u.Kind][u.Bucket] += u.Count
	}
	first, second := TimeOf(day), TimeOf(day.Add(24*time.Hour))
	require.Equal(t, map[UsageKind]map[Time]int64{UsageFlags: {first: 3, second: 1}, UsageEvaluation: {first: 15, second: 5}}, counts)
}

// While there is no leader requests wait longer than a day may last. They count on the day they came, evaluations too.
func TestUsageThatWaitsKeepsItsDay(t *testing.T) {
	day := time.Now().UTC().Truncate(24 * time.Hour)
	now, fail := day.Add(23*time.Hour), errors.New("no leader")
	c, f := newTestCounter(t, func() time.Time { return now }, &fail)
	for _, at := range []time.Duration{23*time.Hour + 10*time.Minute, 23*time.Hour + 20*time.Minute, 23*time.Hour + 30*time.Minute} {
		now = day.Add(at)
		c.Request(1, UsageFlags, RequestClient{})
		c.Add(1, UsageEvaluation, 7, "", 1)
		require.Error(t, c.Flush(t.Context()))
	}
	now, fail = day.Add(25*time.Hour), nil
	c.Request(1, UsageFlags, RequestClient{})
	require.NoError(t, c.Flush(t.Context()))
	require.NoError(t, c.Flush(t.Context()))
	require.NoError(t, c.Flush(t.Context()))
	counts := map[UsageKind]map[Time]int64{UsageFlags: {}, UsageEvaluation: {}}
	for u := range Usages.All(f.State()) {
		counts[u.Kind][u.Bucket] += u.Count
	}
	first, second := TimeOf(day), TimeOf(day.Add(24*time.Hour))
	require.Equal(t, map[UsageKind]map[Time]int64{UsageFlags: {first: 3, second: 1}, UsageEvaluation: {first: 3}}, counts)
}

// Environments come and go by the thousand where each branch or test gets one.
func TestRequestsOfDeletedEnvironmentsAreForgotten(t *testing.T) {
	c, f := newTestCounter(t, time.Now, new(error))
	for environment := range uint64(100) {
		c.Request(environment, UsageFlags, RequestClient{Application: []byte("shop")})
	}
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 1, countUsage(f), "there is one environment")
	var held []any
	c.requests.Range(func(environment, _ any) bool {
		held = append(held, environment)
		return true
	})
	require.Equal(t, []any{uint64(1)}, held)
}

func TestRequestsOfClients(t *testing.T) {
	var r requestCounts
	counted := func() map[string]int64 {
		all := map[string]int64{}
		r.take(func(labels string, kind UsageKind, n int64) {
			require.Equal(t, UsageFlags, kind)
			all[labels] += n
		})
		return all
	}
	client := func(application, version, agent string) RequestClient {
		return RequestClient{[]byte(application), []byte(version), []byte(agent)}
	}
	count := func(application, version, agent string) {
		r.of(client(application, version, agent)).kinds[UsageFlags].Add(1)
	}
	require.Empty(t, counted())
	count("", "", "")
	count("", "", "curl/8.5")
	count("shop", "1.2", "flagsmith-python-sdk/5.0.0")
	count("shop", "1.2", "flagsmith-python-sdk/5.0.0")
	count("shop", "1.2", "curl/8.5")
	count("", "", strings.Repeat("x", 200))
	count("shop", "1.2", "Mozilla/5.0 "+strings.Repeat("x", 200))
	count("shop", "1.2", "flagsmith-"+strings.Repeat("x", 100)+"-sdk/1")
	python := UsageLabels(client("shop", "1.2", "flagsmith-python-sdk/5.0.0"))
	require.Equal(t, map[string]int64{"": 3, python: 2, UsageLabels(client("shop", "1.2", "")): 3}, counted())
	known := client("shop", "1.2", "flagsmith-python-sdk/5.0.0")
	require.Zero(t, testing.AllocsPerRun(100, func() { r.of(known) }), "a known client costs nothing")
	require.Empty(t, counted())

	for i := range 2 * usageClients {
		count(fmt.Sprint(i), "", "")
	}
	late := r.of(RequestClient{Application: []byte("0")})
	all := counted()
	require.Len(t, all, usageClients-2+1, "the two of before count among them")
	require.EqualValues(t, usageClients+2, all[""], "those past the bound say nothing")
	late.kinds[UsageFlags].Add(1) // its client was found before the map was exchanged
	count("new", "", "")
	require.Equal(t, map[string]int64{UsageLabels(client("0", "", "")): 1, UsageLabels(client("new", "", "")): 1}, counted())
}

// A counter that is stopped while a batch waits to be sent again sends what was counted after it, too.
func TestUsageIsSentAtTheEnd(t *testing.T) {
	fail := errors.New("no leader")
	c, f := newTestCounter(t, time.Now, &fail)
	c.Request(1, UsageFlags, RequestClient{})
	require.Error(t, c.Flush(t.Context()))
	c.Request(1, UsageFlags, RequestClient{})
	fail = nil
	c.Stop()
	require.EqualValues(t, 2, countUsage(f))
}

// The last flush is tried again: in the moment in which nodes stop there is often no leader, and soon there is one.
func TestUsageIsSentAtTheEndToTheNextLeader(t *testing.T) {
	_, f := newTestCounter(t, time.Now, new(error))
	tries := 0
	c := NewUsageCounter(f, "n", time.Now, func(_ context.Context, entry []byte) error {
		if tries++; tries < 3 {
			return errors.New("no leader")
		}
		f.Apply(&raft.Log{Index: f.State().Index + 1, Type: raft.LogCommand, Data: entry})
		return nil
	}, slog.New(slog.DiscardHandler))
	c.Request(1, UsageFlags, RequestClient{})
	c.Stop()
	require.EqualValues(t, 1, countUsage(f))
}

func countUsage(f *FSM) (n int64) {
	for u := range Usages.All(f.State()) {
		n += u.Count
	}
	return n
}

// Entries of counters are never larger than what the cluster takes, however many clients tell long names: one that is refused would be
// sent again for ever, and nothing behind it.
func TestUsageEntriesAreBounded(t *testing.T) {
	w, p := newTestWriter(t)
	_, err := w.Write(t.Context(), Author{}, func(tx *Tx) error {
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "k"})
		return nil
	})
	require.NoError(t, err)
	largest := 0
	c := NewUsageCounter(p.fsm, "n", time.Now, func(_ context.Context, entry []byte) error {
		largest = max(largest, len(entry))
		p.apply(entry)
		return nil
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(c.Stop)
	const kinds = 5000
	for i := range kinds {
		name := fmt.Appendf(nil, "%06d%s", i, strings.Repeat("é", 47))
		c.Add(1, UsageEvaluation, 1, UsageLabels(RequestClient{Application: name, Version: name, Agent: nil}), 1)
	}
	require.NoError(t, c.Flush(t.Context()))
	require.LessOrEqual(t, largest, 2<<20)
	require.EqualValues(t, kinds, countUsage(p.fsm))
}
