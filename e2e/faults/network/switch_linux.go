package network

import (
	"bytes"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// link is one direction between two hosts.
type link struct {
	to    *Host
	shape atomic.Pointer[Shape] // nil: forward at once

	// The sender's forwarding goroutine owns these.
	rnd  *rand.Rand
	free time.Time // when a thin line has sent what it took
}

// forward reads what a host sends until its device is closed.
func (n *Network) forward(h *Host, links []*link) {
	packet := make([]byte, mtu+64)
	for {
		size, err := h.tun.Read(packet)
		if err != nil {
			return
		}
		p := packet[:size]
		if size < 20 || p[0]>>4 != 4 || !bytes.Equal(p[16:19], []byte{10, 77, 0}) {
			continue // IPv6 neighbours and the like
		}
		if to := int(p[19]) - 1; to >= 0 && to < len(links) {
			links[to].send(p)
		}
	}
}

// send delivers one packet as the shape says.
func (l *link) send(p []byte) {
	s := l.shape.Load()
	switch {
	case s == nil:
		l.deliver(p)
		return
	case s.Cut, s.Loss > 0 && l.rnd.Float64() < s.Loss:
		return
	}
	wait := s.Delay
	if s.Jitter > 0 {
		wait += time.Duration(l.rnd.Int64N(int64(s.Jitter)))
	}
	if s.Rate > 0 {
		now := time.Now()
		if l.free.Before(now) {
			l.free = now
		}
		if l.free.Sub(now) > backlog {
			return
		}
		l.free = l.free.Add(time.Duration(len(p)) * time.Second / time.Duration(s.Rate))
		wait += l.free.Sub(now)
	}
	if wait <= 0 {
		l.deliver(p)
		return
	}
	p = bytes.Clone(p)
	time.AfterFunc(wait, func() { l.deliver(p) })
}

// deliver hands the packet to the other host's kernel. What a full or closed device refuses is lost, as on any network.
func (l *link) deliver(p []byte) { _, _ = l.to.tun.Write(p) }
