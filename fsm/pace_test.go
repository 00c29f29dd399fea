package fsm

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPacedWriterWritesEverything(t *testing.T) {
	var want, got bytes.Buffer
	p := newPacedWriter(&got, new(atomic.Bool))
	for size := 1; size < 4*paceStep; size = size*2 + 1 {
		b := bytes.Repeat([]byte{byte(size)}, size)
		n, err := p.Write(b)
		require.NoError(t, err)
		require.Equal(t, size, n)
		want.Write(b)
	}
	require.Equal(t, want.Bytes(), got.Bytes())
	broken := errors.New("broken")
	steps := 0
	n, err := newPacedWriter(writerFunc(func(b []byte) (int, error) {
		if steps++; steps == 2 {
			return 5, broken
		}
		return len(b), nil
	}), new(atomic.Bool)).Write(make([]byte, 3*paceStep))
	require.ErrorIs(t, err, broken)
	require.Equal(t, paceStep+5, n)
}

// Whatever a step takes, the rests are in proportion, and none is too short for a timer.
func TestPacedWriterKeepsToItsShare(t *testing.T) {
	for _, step := range []time.Duration{3 * time.Microsecond, 300 * time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			const steps = 3000
			rests, ended := 0, time.Now()
			p := newPacedWriter(writerFunc(func(b []byte) (int, error) {
				if rest := time.Since(ended); rest > 0 {
					require.GreaterOrEqual(t, rest, paceRest)
					require.LessOrEqual(t, rest, paceCredit)
					rests++
				}
				time.Sleep(step)
				ended = time.Now()
				return len(b), nil
			}), new(atomic.Bool))
			p.rest = 5
			began := time.Now()
			_, err := p.Write(make([]byte, steps*paceStep))
			require.NoError(t, err)
			require.Positive(t, rests)
			require.InDelta(t, 6*steps*step, time.Since(began), float64(paceRest))
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
