package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
)

// Generator holds open connections; runs use them one after the other.
type Generator struct {
	poller
	conns []*conn
	buf   []byte // where answers are read; shared, as only heads are kept
}

// Dial opens n connections, spread evenly over the addresses.
func Dial(n int, addrs ...string) (*Generator, error) {
	g := &Generator{poller: poller{events: make([]syscall.EpollEvent, 256)}, buf: make([]byte, 256<<10)}
	var err error
	if g.fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("load: epoll: %w", err)
	}
	for i := range n {
		c, err := dial(addrs[i%len(addrs)])
		if err == nil {
			g.conns = append(g.conns, c)
			err = g.watch(i, syscall.EPOLL_CTL_ADD, syscall.EPOLLIN)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("load: %w", err), g.Close())
		}
	}
	return g, nil
}

func dial(addr string) (*conn, error) {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := &syscall.SockaddrInet4{Port: a.Port}
	copy(to.Addr[:], a.IP.To4())
	for _, step := range []func() error{
		func() error { return syscall.Connect(fd, to) },
		func() error { return syscall.SetNonblock(fd, true) },
		func() error { return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", addr, err), syscall.Close(fd))
		}
	}
	return &conn{fd: fd, addr: addr}, nil
}

// Close closes all connections.
func (g *Generator) Close() error {
	var errs []error
	for _, c := range g.conns {
		errs = append(errs, syscall.Close(c.fd))
	}
	return errors.Join(append(errs, syscall.Close(g.fd))...)
}

// watch changes what connection i waits for.
func (g *Generator) watch(i, op int, events uint32) error {
	return syscall.EpollCtl(g.fd, op, g.conns[i].fd, &syscall.EpollEvent{Events: events, Fd: int32(i)})
}

// Run sends requests until the options or ctx end it, and awaits all answers. After
// an error the generator can only be closed.
func (g *Generator) Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	finestTimers()
	r := &run{g: g, o: o, result: newResult(), start: time.Now(), idle: make([]int, 0, len(g.conns))}
	for i := range g.conns {
		r.idle = append(r.idle, i)
	}
	r.end = int64(o.Duration)
	if o.Count > 0 {
		r.end = int64(24 * time.Hour)
	}
	if o.Rate > 0 {
		r.interval = float64(time.Second) / o.Rate
	}
	err := r.loop(ctx)
	r.result.Elapsed = time.Duration(r.last)
	return r.result, err
}
