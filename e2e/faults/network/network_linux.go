package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Network is a set of hosts that reach each other through the switch.
type Network struct {
	hosts []*Host
	links [][]*link // from, to
	wait  sync.WaitGroup
}

// New makes a network of that many hosts. The seed decides which packets are lost.
func New(hosts int, seed uint64) (*Network, error) {
	n := &Network{}
	for i := range hosts {
		h, err := newHost(i)
		if err != nil {
			n.Close()
			return nil, err
		}
		n.hosts = append(n.hosts, h)
	}
	for i := range hosts {
		var row []*link
		for j, to := range n.hosts {
			row = append(row, &link{to: to, rnd: rand.New(rand.NewPCG(seed, uint64(i)<<32|uint64(j)))})
		}
		n.links = append(n.links, row)
	}
	for i, h := range n.hosts {
		n.wait.Go(func() { n.forward(h, n.links[i]) })
	}
	return n, nil
}

// Host returns a host by its number.
func (n *Network) Host(i int) *Host { return n.hosts[i] }

// Shape sets what happens to packets from one host to another.
func (n *Network) Shape(from, to int, s Shape) { n.links[from][to].shape.Store(&s) }

// Heal makes every link forward at once again.
func (n *Network) Heal() {
	for _, row := range n.links {
		for _, l := range row {
			l.shape.Store(nil)
		}
	}
}

// Close ends the hosts, and with them every process started there.
func (n *Network) Close() {
	for _, h := range n.hosts {
		h.close()
	}
	n.wait.Wait()
}

// Host is one network namespace.
type Host struct {
	ip   string
	tun  *os.File
	ns   int         // descriptor of the namespace
	root int         // descriptor of the namespace that this process began in
	do   chan func() // run on the thread that lives in the namespace
	done chan struct{}
}

// address is the IPv4 address of a host by its number.
func address(i int) [4]byte { return [4]byte{10, 77, 0, byte(i + 1)} }

func newHost(i int) (*Host, error) {
	a := address(i)
	h := &Host{ip: net.IP(a[:]).String(), ns: -1, root: -1, do: make(chan func()), done: make(chan struct{})}
	ready := make(chan error, 1)
	go h.live(a, ready)
	if err := <-ready; err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// live keeps one thread in the namespace. The thread ends with the host, since
// it is never unlocked; the kernel then kills the processes started from it.
func (h *Host) live(a [4]byte, ready chan<- error) {
	defer close(h.done)
	runtime.LockOSThread()
	err := h.enter(a)
	ready <- err
	if err != nil {
		return
	}
	for f := range h.do {
		f()
	}
}

func (h *Host) enter(a [4]byte) (err error) {
	if h.root, err = unix.Open("/proc/self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return notPermitted(err)
	}
	if h.ns, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if h.tun, err = openTUN("tun0"); err != nil {
		return notPermitted(err)
	}
	if err := configure("lo", nil); err != nil {
		return err
	}
	return configure("tun0", &a)
}

func notPermitted(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w: %w", ErrNotPermitted, err)
	}
	return err
}

// IP is the address of the host.
func (h *Host) IP() string { return h.ip }

// Launch starts the command in the namespace. It is killed when the network is closed or this process ends.
func (h *Host) Launch(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error, 1)
	h.do <- func() { result <- cmd.Start() }
	return <-result
}

// DialContext connects from this host.
func (h *Host) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	type dialed struct {
		c   net.Conn
		err error
	}
	result := make(chan dialed, 1)
	go func() { // a thread of its own, in the namespace while it connects
		runtime.LockOSThread()
		if err := unix.Setns(h.ns, unix.CLONE_NEWNET); err != nil {
			result <- dialed{nil, err}
			return // and the thread ends
		}
		c, err := (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, addr)
		if unix.Setns(h.root, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		result <- dialed{c, err}
	}()
	d := <-result
	return d.c, d.err
}

func (h *Host) close() {
	close(h.do)
	<-h.done
	if h.tun != nil {
		_ = h.tun.Close() // ends the reader
	}
	for _, fd := range []int{h.ns, h.root} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// openTUN makes a TUN device in the namespace of this thread.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil // the runtime's poller waits for it
}

// configure brings a device up, with an address in a /24 if one is given.
func configure(name string, a *[4]byte) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	set := func(request uint, fill func(*unix.Ifreq) error) {
		if err != nil {
			return
		}
		var r *unix.Ifreq
		if r, err = unix.NewIfreq(name); err == nil {
			if err = fill(r); err == nil {
				err = unix.IoctlIfreq(s, request, r)
			}
		}
	}
	if a != nil {
		set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(a[:]) })
		set(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) })
		set(unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(mtu); return nil })
	}
	set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })
	if err != nil {
		return fmt.Errorf("network: configure %s: %w", name, err)
	}
	return nil
}
