package servertest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hangs is how long a test with a node may take. It is far below the time limit of `go test`, whose dump of every goroutine of three nodes
// hides which test it was.
const hangs = 4 * time.Minute

// watch ends the process when the test still runs after a long time, and says where it stands, and every goroutine of ours that waited as long.
func watch(t testing.TB) {
	if _, test := t.(*testing.T); !test {
		return // benchmarks and fuzzing may
	}
	me := goroutine()
	timer := time.AfterFunc(hangs, func() {
		all := make([]byte, 64<<20)
		stacks := bytes.Split(all[:runtime.Stack(all, true)], []byte("\n\n"))
		for _, s := range stacks {
			if head, _, _ := bytes.Cut(s, []byte("\n")); bytes.Contains(head, []byte(" minutes]")) && bytes.Contains(s, []byte("flagraft")) {
				fmt.Fprintf(os.Stderr, "%s\n", outline(s))
			}
		}
		for _, s := range stacks {
			if bytes.HasPrefix(s, me) {
				fmt.Fprintf(os.Stderr, "\n%s runs for %s:\n%s\n", t.Name(), hangs, s)
			}
		}
		os.Exit(2)
	})
	t.Cleanup(func() { timer.Stop() })
}

// goroutine is how a dump begins the part of the calling goroutine.
func goroutine() []byte {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	return buf[:bytes.IndexByte(buf, '[')]
}

// outline is a goroutine's head and the functions it is in, on one line.
func outline(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	out := []string{lines[0]}
	for i := 1; i < len(lines); i += 2 { // the odd ones are files
		name, _, _ := strings.Cut(lines[i], "(0x")
		out = append(out, name[strings.LastIndexByte(name, '/')+1:])
	}
	return strings.Join(out, " < ")
}
