//go:build !linux

package load

import (
	"context"
	"errors"
)

// Generator exists on Linux only.
type Generator struct{}

var errLinux = errors.New("load: the generator needs Linux (epoll)")

// Dial fails.
func Dial(int, ...string) (*Generator, error) { return nil, errLinux }

// Close does nothing.
func (*Generator) Close() error { return nil }

// Run fails.
func (*Generator) Run(context.Context, Options) (*Result, error) { return nil, errLinux }
