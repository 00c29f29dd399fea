package fsm

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

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

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
