package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMutantDiffersFromTheSource(t *testing.T) {
	const line = `return int64(cap(l.Data)+cap(l.Extensions)) + int64(unsafe.Sizeof(*l))`
	edit := Edit{File: "cluster/storage_cache.go", Old: line, New: `return 0 * int64(unsafe.Sizeof(*l))`}
	output, err := Test(t, "./cluster", "^TestCacheStaysWithinItsBytes$")
	require.NoError(t, err, output)
	output, err = Test(t, "./cluster", "^TestCacheStaysWithinItsBytes$", edit)
	require.Error(t, err)
	require.Contains(t, output, "--- FAIL: TestCacheStaysWithinItsBytes")
}

func TestBuild(t *testing.T) {
	bin := Build(t, Edit{File: "cmd/flagraft/main.go", Old: "func main() {", New: "func main() {\n\tprintln(\"a mutant\")\n"})
	output, err := exec.Command(bin, "settings").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), "a mutant")
}

func TestEditsMustFit(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("one two two"), 0o600))
	for _, e := range []Edit{{"a.go", "two", "x"}, {"a.go", "none", "x"}, {"a.go", "", "x"}, {"b.go", "one", "x"}} {
		_, err := overlayFile(root, t.TempDir(), []Edit{e})
		require.Error(t, err, "%+v", e)
	}
	dir := t.TempDir()
	_, err := overlayFile(root, dir, []Edit{{"a.go", "one", "three"}, {"a.go", "three two", "3"}})
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "0.go"))
	require.NoError(t, err)
	require.Equal(t, "3 two", string(text))
}
