package fsm

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPacedWriterWritesEverything(t *testing.T) {
	var want, got bytes.Buffer
	p := newPacedWriter(writerFunc(got.Write), new(pace))
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
	}), new(pace)).Write(make([]byte, 3*paceStep))
	require.ErrorIs(t, err, broken)
	require.Equal(t, paceStep+5, n)
}

// The compressor gets no more than a step to work at without a look at the clock.
func TestPacedWriterFlushesEachStep(t *testing.T) {
	broken := errors.New("broken")
	f := &flushes{}
	n, err := newPacedWriter(f, new(pace)).Write(make([]byte, 3*paceStep+1))
	require.NoError(t, err)
	require.Equal(t, 3*paceStep+1, n)
	require.Equal(t, []int{paceStep, 0, paceStep, 0, paceStep, 0, 1}, f.calls)
	f.err = broken
	_, err = newPacedWriter(f, new(pace)).Write(make([]byte, 3*paceStep))
	require.ErrorIs(t, err, broken)
}

// flushes notes what it gets, 0 for a flush.
type flushes struct {
	calls []int
	err   error
}

func (f *flushes) Write(b []byte) (int, error) { f.calls = append(f.calls, len(b)); return len(b), nil }
func (f *flushes) Flush() error                { f.calls = append(f.calls, 0); return f.err }

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
			}), new(pace))
			p.rest = 5
			began := time.Now()
			_, err := p.Write(make([]byte, steps*paceStep))
			require.NoError(t, err)
			require.Positive(t, rests)
			require.InDelta(t, 6*steps*step, time.Since(began), float64(paceRest))
		})
	}
}

// What a log that outgrows its bound asks for is looked up at each rest; it never makes a snapshot slower.
func TestPacedWriterRestsLessInArrears(t *testing.T) {
	const steps, step = 3000, 300 * time.Microsecond
	for arrears, parts := range map[float64]time.Duration{-0.5: 6, 1: 6, 2.5: 3, 5: 2} {
		synctest.Test(t, func(t *testing.T) {
			f := New(slog.New(slog.DiscardHandler), NewViews(slog.New(slog.DiscardHandler)))
			f.Arrears(func() float64 { return arrears })
			p := newPacedWriter(writerFunc(func(b []byte) (int, error) {
				time.Sleep(step)
				return len(b), nil
			}), &f.pace)
			p.rest = 5
			began := time.Now()
			_, err := p.Write(make([]byte, steps*paceStep))
			require.NoError(t, err)
			require.InDelta(t, parts*steps*step, time.Since(began), float64(paceRest))
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
func (f writerFunc) Flush() error                { return nil }
