// Package doctor examines the place where a node runs, or is to run: what it finds, whether that is well, and what to do if not. It changes
// nothing but for a file that it writes into the data directory and removes again.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// Status is how well something is.
type Status string

// From well to not. A warning is for who runs the node to judge; with a problem it will not work.
const (
	OK      Status = "ok"
	Skipped Status = "skipped" // it does not apply, or cannot be known here
	Warning Status = "warning"
	Problem Status = "problem"
)

// Finding is one thing that was looked at.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// patient is one examination.
type patient struct {
	settings *settings.Settings
	running  *runningNode // nil: no node of ours answers
	findings []Finding
}

// Examine looks at everything that settings speak of, one after the other.
func Examine(ctx context.Context, st *settings.Settings) []Finding {
	p := &patient{settings: st}
	p.running = p.askNode(ctx)
	for _, look := range []func(context.Context){p.checkSettings, p.checkMemory, p.checkDescriptors, p.checkSpace, p.checkDisk, p.checkPorts, p.checkCertificates, p.checkMembers, p.checkClock} {
		if ctx.Err() == nil {
			look(ctx)
		}
	}
	return p.findings
}

func (p *patient) found(check string, status Status, advice, format string, args ...any) {
	if status == OK || status == Skipped {
		advice = ""
	}
	p.findings = append(p.findings, Finding{check, status, fmt.Sprintf(format, args...), advice})
}

// runningNode is what a node that runs with these settings says of itself.
type runningNode struct {
	NodeID  string `json:"node_id"`
	Version string `json:"version"`
	Ready   bool   `json:"ready"`
	Peers   []struct {
		ID      string `json:"id"`
		Address string `json:"address"`
		API     string `json:"api"`
	} `json:"peers"`
}

// askNode asks on the management port.
func (p *patient) askNode(ctx context.Context) *runningNode {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(p.settings.ManagementAddr)+"/status", nil)
	if err != nil {
		return nil
	}
	resp, err := direct.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }() // only read
	var n runningNode
	if json.NewDecoder(resp.Body).Decode(&n) != nil || n.NodeID == "" {
		return nil
	}
	return &n
}

// direct asks without the proxy that the environment may name: that knows nothing of these nodes.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: 3 * time.Second}, Timeout: 5 * time.Second}

// local is a listen address as one on this machine reaches it.
func local(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func (p *patient) checkSettings(context.Context) {
	if err := server.CheckSettings(p.settings); err != nil {
		p.found("settings", Problem, "Correct them: docs/settings.md, flagraft serve --help.", "%v", err)
		return
	}
	p.found("settings", OK, "", "they fit together")
	if n := p.running; n != nil {
		p.found("node", OK, "", "%s runs here, version %s, ready: %t", n.NodeID, n.Version, n.Ready)
	}
}

func (p *patient) checkMemory(context.Context) {
	limit, err := server.SetMemoryLimit(p.settings.MemoryLimit, slog.New(slog.DiscardHandler))
	switch {
	case err != nil:
		p.found("memory limit", Problem, "Correct --memory-limit or GOMEMLIMIT.", "%v", err)
	case limit == math.MaxInt64:
		p.found("memory limit", Warning, "Set --memory-limit (or GOMEMLIMIT, or a limit of the container): a node that knows its bound turns requests away instead of being killed.", "there is none")
	case limit < leastMemory:
		p.found("memory limit", Warning, "Give the node more, or expect 503 under load: docs/operations/limits.md.", "%d MB", limit>>20)
	default:
		p.found("memory limit", OK, "", "%d MB", limit>>20)
	}
}

// leastMemory is what an empty node with a few hundred connections is at ease with.
const leastMemory = 128 << 20
