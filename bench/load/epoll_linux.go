package load

import (
	"errors"
	"syscall"
	"time"
	"unsafe"
)

// Numbers that package syscall lacks; they are the same on all architectures.
const (
	sysEpollPwait2   = 441 // Linux 5.11
	prSetTimerSlack  = 29
	finestTimerSlack = 1 // ns
)

// poller is an epoll instance and what it reports.
type poller struct {
	fd     int
	events []syscall.EpollEvent
	coarse bool // the kernel lacks epoll_pwait2
}

// wait waits with the resolution of nanoseconds, where epoll_wait has a
// millisecond: too coarse for thousands of requests a second.
func (p *poller) wait(d time.Duration) (int, error) {
	for {
		n, err := p.once(d)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

func (p *poller) once(d time.Duration) (int, error) {
	if p.coarse {
		return syscall.EpollWait(p.fd, p.events, int((d+time.Millisecond-1)/time.Millisecond))
	}
	ts := syscall.NsecToTimespec(int64(d))
	n, _, errno := syscall.Syscall6(sysEpollPwait2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.ENOSYS:
		p.coarse = true
		return 0, syscall.EINTR
	}
	return 0, errno
}

// finestTimers asks the kernel not to gather this thread's timers (50 us by default).
func finestTimers() {
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, prSetTimerSlack, finestTimerSlack, 0)
}
