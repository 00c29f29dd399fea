package nodes

import (
	"os"
	"path/filepath"
	"testing"
)

// Binary is the flagraft under test; a test that asks for it runs only where `make e2e` names one.
func Binary(t testing.TB) string {
	t.Helper()
	bin := os.Getenv("FLAGRAFT_BINARY")
	if bin == "" {
		t.Skip("FLAGRAFT_BINARY is not set: run make e2e")
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
