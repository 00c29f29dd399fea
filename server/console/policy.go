package console

import (
	"slices"
	"strings"
)

// basePolicy lets the page run its own script and style files and nothing else: no inline script, no eval, no text that becomes markup, no
// frame around it (docs/adr/0013-console.md). The one Trusted Types policy names the shared worker's file.
const basePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; worker-src 'self'; manifest-src 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types flagraft-worker; connect-src 'self'"

// policy is the header for these peers.
type policy struct {
	peers []string
	text  string
}

// policy lets the page also ask the other nodes.
func (c *Console) policy() string {
	peers := c.peers()
	if p := c.page.Load(); p != nil && slices.Equal(p.peers, peers) {
		return p.text
	}
	p := &policy{peers, strings.Join(append([]string{basePolicy}, peers...), " ")}
	c.page.Store(p)
	return p.text
}
