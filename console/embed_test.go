package console

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// mostScript is what all scripts may come to, compressed as a node sends them.
const mostScript = 180_000

func TestScriptsAreSmall(t *testing.T) {
	var sent bytes.Buffer
	scripts := 0
	require.NoError(t, fs.WalkDir(Files(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".js") {
			return err
		}
		scripts++
		data, err := fs.ReadFile(Files(), name)
		require.NoError(t, err)
		z := gzip.NewWriter(&sent)
		_, err = z.Write(data)
		require.NoError(t, err)
		return z.Close()
	}))
	require.NotZero(t, scripts)
	require.LessOrEqual(t, sent.Len(), mostScript)
}
