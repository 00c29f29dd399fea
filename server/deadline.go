package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// lateness is how much later than asked for a deadline may come.
const lateness = time.Second

// processStart gives deadlines a clock that nobody turns back.
var processStart = time.Now()

// deadline is that of a connection's one direction. Who reads or writes says how long
// it may take; any goroutine may give a time instead.
type deadline struct {
	move func(time.Time) error // of the socket

	limit time.Duration // of all waits since renew; 0: none. Only who reads changes it

	// Nanoseconds since processStart; 0: none.
	end atomic.Int64 // of the limit; none: nothing has waited yet
	set atomic.Int64 // of the socket

	mu    sync.Mutex  // keeps given and what the socket has in one order; only who moves the socket comes here
	given atomic.Bool // a time was given: it holds instead of the limit
}

// renew has the limit hold again, from the next wait.
func (d *deadline) renew() {
	if d.end.Load() != 0 { // a store takes much longer
		d.end.Store(0)
	}
	if d.given.Load() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.given.Store(false)
	}
}

// give sets a time, the zero time for none. It holds for who waits already, too.
func (d *deadline) give(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given.Store(true)
	return d.place(t)
}

// wait readies the socket for a wait that begins now.
func (d *deadline) wait() error {
	if d.given.Load() {
		return nil
	}
	now, end := d.begin()
	set := time.Duration(d.set.Load())
	if set == end || end > 0 && set > end && set <= end+lateness {
		return nil // it does as well
	}
	if end == 0 {
		return d.adjust(time.Time{})
	}
	// A short one is kept to more closely.
	return d.adjust(processStart.Add(end + min(lateness, max(0, end-now)/8)))
}

// waitSoon is wait, but that the socket may end the wait before its time: between lateness
// and twice that from now.
func (d *deadline) waitSoon() error {
	now, end := d.begin()
	soon := now + 2*lateness
	if end > 0 {
		soon = min(soon, end)
	}
	if ahead := time.Duration(d.set.Load()) - now; ahead >= lateness && ahead <= 2*lateness {
		return nil
	}
	return d.adjust(processStart.Add(soon))
}

// begin says when a wait begins, and when the limit ends it: 0, never.
func (d *deadline) begin() (now, end time.Duration) {
	now, end = time.Since(processStart), time.Duration(d.end.Load())
	if end == 0 && d.limit > 0 {
		end = now + d.limit
		d.end.Store(int64(end))
	}
	return now, end
}

// adjust moves the socket's deadline, unless it was given.
func (d *deadline) adjust(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given.Load() {
		return nil
	}
	return d.place(t)
}

// lift takes back what the socket has, unless it was given.
func (d *deadline) lift() (lifted bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.given.Load() {
		return false, nil
	}
	return true, d.place(time.Time{})
}

func (d *deadline) place(t time.Time) error {
	if t.IsZero() {
		d.set.Store(0)
	} else {
		d.set.Store(int64(t.Sub(processStart)))
	}
	return d.move(t)
}
