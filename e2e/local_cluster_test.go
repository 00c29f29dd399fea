package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocalClusterLeavesOthersAlone has make cluster's script find one of its ports in use: a node that listens there is none of its own, and
// the other two must not join it.
func TestLocalClusterLeavesOthersAlone(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.1:8021"); err == nil { // or somebody else listens there
		defer l.Close()
	}
	dir := t.TempDir()
	binary, started := filepath.Join(dir, "flagraft"), filepath.Join(dir, "started")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\ntouch '"+started+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("bash", "../deploy/local-cluster.sh", binary, filepath.Join(dir, "data")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is in use") {
		t.Errorf("error %v, output %s", err, out)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("nodes were started beside it")
	}
}

// TestLocalClusterNamesTheNodeThatEnds has a node end at once: the script says which one and why, without waiting for it.
func TestLocalClusterNamesTheNodeThatEnds(t *testing.T) {
	for _, p := range []string{"8000", "8001", "8002", "8003", "8010", "8011", "8012", "8013", "8020", "8021", "8022", "8023"} {
		l, err := net.Listen("tcp", "127.0.0.1:"+p)
		if err != nil {
			t.Skipf("the script's ports are in use: %v", err)
		}
		l.Close()
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "flagraft")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho 'no such disk' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("bash", "../deploy/local-cluster.sh", binary, filepath.Join(dir, "data")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "node0 is not ready") || !strings.Contains(string(out), "no such disk") {
		t.Errorf("error %v, output %s", err, out)
	}
}
