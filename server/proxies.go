package server

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/server/route"
)

// proxies are the addresses whose X-Forwarded headers are believed.
type proxies []netip.Prefix

// parseProxies reads addresses ("10.0.0.1") and networks ("10.0.0.0/8").
func parseProxies(list []string) (proxies, error) {
	var out proxies
	for _, text := range list {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(text); err != nil {
				return nil, fmt.Errorf("trusted-proxies: %q is neither an address nor a network", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func (p proxies) contain(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
}

// resolve puts what trusted proxies say of the client into the request: the scheme, and the last address on the way that is none of theirs.
// What stands left of that one anybody may have written.
func (p proxies) resolve(r *route.Request) {
	if !p.contain(r.Remote) {
		return
	}
	var hops []string
	for _, h := range r.Headers { // some proxies add a header of their own behind the client's
		switch {
		case strings.EqualFold(h.Name, "X-Forwarded-For"):
			hops = append(hops, strings.Split(h.Value, ",")...)
		case strings.EqualFold(h.Name, "X-Forwarded-Proto") && (h.Value == "http" || h.Value == "https"):
			r.Scheme = h.Value
		}
	}
	for _, hop := range slices.Backward(hops) {
		a, err := hopAddress(strings.TrimSpace(hop))
		if err != nil {
			return
		}
		r.Remote = a.String()
		if !p.contain(r.Remote) {
			return
		}
	}
}

// hopAddress reads an address on the way. Some proxies tell the port, too, which is another one for each connection.
func hopAddress(hop string) (netip.Addr, error) {
	if a, err := netip.ParseAddrPort(hop); err == nil {
		return a.Addr(), nil
	}
	return netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
}
