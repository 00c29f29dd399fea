package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The binary of this test was built from known modules.
func TestDescribesItsOwnBinary(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, run(&first, self))
	require.NoError(t, run(&second, self))
	require.Equal(t, first.String(), second.String())

	var d document
	require.NoError(t, json.Unmarshal(first.Bytes(), &d))
	require.Equal(t, "CycloneDX", d.Format)
	refs := map[string]bool{}
	for _, c := range d.Components {
		require.False(t, refs[c.Ref], "twice: %s", c.Ref)
		refs[c.Ref] = true
		if c.Name == "github.com/google/uuid" {
			require.Equal(t, "pkg:golang/github.com/google/uuid@"+c.Version, c.Package)
			require.NotEmpty(t, c.Properties)
		}
	}
	require.Contains(t, refs, "pkg:golang/github.com/google/uuid@v1.6.0")
	require.Len(t, d.Dependencies[0].DependsOn, len(d.Components))
	require.Regexp(t, `^[0-9a-f]{64}$`, d.Metadata.Component.Hashes[0].Content)

	require.Error(t, run(&first, "main.go"))
}
