package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAStopThatIsStuckEnds(t *testing.T) {
	refused := errors.New("refused")
	var out bytes.Buffer
	require.ErrorIs(t, stopWithin(t.Context(), time.Minute, 0, &out, func(context.Context) error { return refused }), refused)
	require.Empty(t, out.String())

	heeds := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	require.ErrorIs(t, stopWithin(t.Context(), time.Millisecond, time.Minute, &out, heeds), context.DeadlineExceeded)

	free := make(chan struct{})
	defer close(free)
	stuck := func(context.Context) error { <-free; return nil }
	require.ErrorContains(t, stopWithin(t.Context(), time.Millisecond, time.Millisecond, &out, stuck), "did not stop within 2ms")
	require.Contains(t, out.String(), "TestAStopThatIsStuckEnds", "it says what waits")
}
