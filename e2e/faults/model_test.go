package faults

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

func op(start, end int64, kind, value string, result Outcome) Op {
	return Op{Start: start, End: end, Client: int(start), Kind: kind, Value: value, Result: result}
}

// TestRegisterHistories: stale reads, lost writes and effects of refused writes are seen; unknown outcomes may go either way, at any later time.
func TestRegisterHistories(t *testing.T) {
	for name, c := range map[string]struct {
		ops  []Op
		want porcupine.CheckResult
	}{
		"in order":               {[]Op{op(0, 1, "reg write", "a", OK), op(2, 3, "reg read", "a", OK)}, porcupine.Ok},
		"initial value":          {[]Op{op(0, 1, "reg read", "0", OK)}, porcupine.Ok},
		"stale":                  {[]Op{op(0, 1, "reg write", "a", OK), op(2, 3, "reg read", "0", OK)}, porcupine.Illegal},
		"concurrent, old":        {[]Op{op(0, 9, "reg write", "a", OK), op(2, 3, "reg read", "0", OK)}, porcupine.Ok},
		"back in time":           {[]Op{op(0, 9, "reg write", "a", OK), op(2, 3, "reg read", "a", OK), op(4, 5, "reg read", "0", OK)}, porcupine.Illegal},
		"unknown, seen":          {[]Op{op(0, 1, "reg write", "a", Unknown), op(2, 3, "reg read", "a", OK)}, porcupine.Ok},
		"unknown, seen late":     {[]Op{op(0, 1, "reg write", "a", Unknown), op(2, 3, "reg read", "0", OK), op(4, 5, "reg read", "a", OK)}, porcupine.Ok},
		"unknown, never seen":    {[]Op{op(0, 1, "reg write", "a", Unknown), op(2, 3, "reg read", "0", OK)}, porcupine.Ok},
		"refused, seen":          {[]Op{op(0, 1, "reg write", "a", Refused), op(2, 3, "reg read", "a", OK)}, porcupine.Illegal},
		"a read that failed":     {[]Op{op(0, 1, "reg write", "a", OK), op(2, 3, "reg read", "", Unknown)}, porcupine.Ok},
		"overwritten comes back": {[]Op{op(0, 1, "reg write", "a", OK), op(2, 3, "reg write", "b", OK), op(4, 5, "reg read", "a", OK)}, porcupine.Illegal},
	} {
		require.Equal(t, c.want, linearizable(registerModel(), c.ops), name)
	}
}

// TestPresenceHistories: names are taken once, ids are deleted once, and lists see both.
func TestPresenceHistories(t *testing.T) {
	gone := op(4, 5, "has delete", "7", OK)
	gone.Status = 404
	for name, c := range map[string]struct {
		ops  []Op
		want porcupine.CheckResult
	}{
		"made and found":      {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has read", "7", OK)}, porcupine.Ok},
		"made twice":          {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has create", "8", OK)}, porcupine.Illegal},
		"taken":               {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has create", "", OK)}, porcupine.Ok},
		"taken by nobody":     {[]Op{op(0, 1, "has create", "", OK)}, porcupine.Illegal},
		"lost":                {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has read", "", OK)}, porcupine.Illegal},
		"deleted":             {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has delete", "7", OK), op(6, 7, "has read", "", OK)}, porcupine.Ok},
		"deleted twice":       {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has delete", "7", OK), op(4, 5, "has delete", "7", OK)}, porcupine.Illegal},
		"gone the 2nd time":   {[]Op{op(0, 1, "has create", "7", OK), op(2, 3, "has delete", "7", OK), gone}, porcupine.Ok},
		"not found but there": {[]Op{op(0, 1, "has create", "7", OK), gone}, porcupine.Illegal},
		"unknown creation":    {[]Op{op(0, 1, "has create", "", Unknown), op(2, 3, "has read", "7", OK), op(4, 5, "has read", "8", OK)}, porcupine.Illegal},
		"unknown, then known": {[]Op{op(0, 1, "has create", "", Unknown), op(2, 3, "has read", "7", OK), op(4, 5, "has create", "", OK)}, porcupine.Ok},
	} {
		require.Equal(t, c.want, linearizable(presenceModel(), c.ops), name)
	}
}
