//go:build !linux

package network

import (
	"context"
	"net"
	"os/exec"
)

// Network is a set of hosts; there are none on this system.
type Network struct{}

// Host is one network namespace.
type Host struct{}

// New fails: namespaces exist on Linux only.
func New(int, uint64) (*Network, error) { return nil, ErrNotPermitted }

// Host returns a host by its number.
func (*Network) Host(int) *Host { return nil }

// Shape sets what happens to packets from one host to another.
func (*Network) Shape(int, int, Shape) {}

// Heal makes every link forward at once again.
func (*Network) Heal() {}

// Close ends the hosts.
func (*Network) Close() {}

// IP is the address of the host.
func (*Host) IP() string { return "" }

// Launch starts the command in the namespace.
func (*Host) Launch(*exec.Cmd) error { return ErrNotPermitted }

// DialContext connects from this host.
func (*Host) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, ErrNotPermitted
}
