package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"syscall"
	"time"
)

// run is one run of a generator. Times are nanoseconds since start.
type run struct {
	g      *Generator
	o      Options
	result *Result
	start  time.Time
	end    int64
	last   int64 // the latest answer

	idle     []int // connections without a request
	sent     int
	interval float64 // open loop
}

func (r *run) now() int64 { return int64(time.Since(r.start)) }

// due is when the next request is to be sent.
func (r *run) due() int64 {
	if r.interval == 0 {
		return 0
	}
	return int64(float64(r.sent) * r.interval)
}

// finished reports that no further request is to be sent.
func (r *run) finished(now int64) bool {
	switch {
	case r.o.Count > 0:
		return r.sent >= r.o.Count
	case r.interval > 0:
		return r.due() >= r.end
	}
	return now >= r.end
}

func (r *run) loop(ctx context.Context) error {
	stopped := ctx.Done()
	for {
		now := r.now()
		if err := r.sendDue(now); err != nil {
			return err
		}
		over := r.finished(now)
		if over && len(r.idle) == len(r.g.conns) {
			return nil
		}
		if now > r.end+int64(grace) {
			if !over { // rounded up: the request that is due next counts, or a run whose connections wait for answers would pass
				r.result.Unsent = int(math.Ceil((float64(r.end) - float64(r.due())) / r.interval))
			}
			if len(r.idle) < len(r.g.conns) && over {
				return fmt.Errorf("load: %d requests have no answer after %s", len(r.g.conns)-len(r.idle), grace)
			}
			return nil
		}
		select {
		case <-stopped:
			return ctx.Err()
		default:
		}
		if err := r.await(now, over); err != nil {
			return err
		}
	}
}

// sendDue sends what is due on the connections that are free.
func (r *run) sendDue(now int64) error {
	for len(r.idle) > 0 && !r.finished(now) {
		intended := now
		if r.interval > 0 {
			if intended = r.due(); intended > now {
				return nil
			}
		}
		i := r.idle[len(r.idle)-1]
		r.idle = r.idle[:len(r.idle)-1]
		r.sent++
		c := r.g.conns[i]
		c.begin(intended, r.o.Source)
		if err := r.flush(i, c); err != nil {
			return err
		}
	}
	return nil
}

// flush writes; what does not fit waits until the socket takes more.
func (r *run) flush(i int, c *conn) error {
	full, err := c.write()
	if err != nil || full == c.blocked {
		return err
	}
	c.blocked = full
	events := uint32(syscall.EPOLLIN)
	if full {
		events |= syscall.EPOLLOUT
	}
	return r.g.watch(i, syscall.EPOLL_CTL_MOD, events)
}

// longestWait bounds a wait, so that a cancelled context is noticed.
const longestWait = int64(100 * time.Millisecond)

// await waits for answers, or until the next request is due, and handles what came.
func (r *run) await(now int64, over bool) error {
	wait := longestWait
	if r.interval > 0 && !over && len(r.idle) > 0 {
		wait = min(wait, max(0, r.due()-now))
	}
	n, err := r.g.wait(time.Duration(wait))
	if err != nil {
		return fmt.Errorf("load: epoll: %w", err)
	}
	for _, ev := range r.g.events[:n] {
		i := int(ev.Fd)
		c := r.g.conns[i]
		if ev.Events&syscall.EPOLLOUT != 0 && c.blocked {
			if err := r.flush(i, c); err != nil {
				return err
			}
		}
		if ev.Events&^uint32(syscall.EPOLLOUT) != 0 {
			if err := r.receive(i, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive reads what has come for a connection and counts its answer when complete.
// In the closed loop the next request goes out at once, in the order of answers.
func (r *run) receive(i int, c *conn) error {
	done, n, err := c.read(r.g.buf, r.result, r.o.Status)
	r.result.Bytes += int64(n)
	if err != nil || !done {
		return err
	}
	now := r.now()
	r.last = now
	r.result.Requests++
	if err := r.result.Latency.RecordValue(max(1, (now-c.intended+500)/1000)); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if r.interval == 0 && !r.finished(now) {
		r.sent++
		c.begin(now, r.o.Source)
		return r.flush(i, c)
	}
	r.idle = append(r.idle, i)
	return nil
}

// conn is one connection with at most one request under way.
type conn struct {
	fd       int
	addr     string
	intended int64
	out      []byte // the request
	at       int    // bytes of it written
	blocked  bool   // the socket takes no more for now
	waiting  bool   // a request is under way
	head     []byte // the part of an answer's head that has come
	body     int    // bytes of the body still to come, below 0 while the head is read
}

func (c *conn) begin(intended int64, source Source) {
	c.intended, c.at, c.body, c.waiting = intended, 0, -1, true
	c.out, c.head = source(c.out[:0]), c.head[:0]
}

func (c *conn) write() (full bool, err error) {
	for c.at < len(c.out) {
		n, err := syscall.Write(c.fd, c.out[c.at:])
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("load: write to %s: %w", c.addr, err)
		}
		c.at += n
	}
	return false, nil
}

var errClosed = errors.New("the server closed the connection")

func (c *conn) read(buf []byte, result *Result, want int) (done bool, n int, err error) {
	n, err = syscall.Read(c.fd, buf)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return false, 0, nil
	case err == nil && n == 0:
		err = errClosed
	case err == nil && !c.waiting:
		err = fmt.Errorf("an answer nobody asked for: %.200q", buf[:n])
	}
	if err != nil {
		return false, 0, fmt.Errorf("load: read from %s: %w", c.addr, err)
	}
	got := buf[:n]
	if c.body < 0 {
		if len(c.head) > 0 {
			c.head = append(c.head, got...)
			got = c.head
		}
		a, ok, err := parseHead(got)
		if err != nil {
			return false, n, fmt.Errorf("load: %s: %w", c.addr, err)
		}
		if !ok {
			if len(c.head) == 0 {
				c.head = append(c.head, got...)
			}
			return false, n, nil
		}
		result.count(a, got, want)
		c.body, got = a.body, got[a.head:]
	}
	if c.body -= len(got); c.body < 0 {
		return false, n, fmt.Errorf("load: %s sent %d bytes more than it said", c.addr, -c.body)
	}
	c.waiting = c.body > 0
	return !c.waiting, n, nil
}

func (r *Result) count(a answer, raw []byte, want int) {
	if a.unpersisted {
		r.Unpersisted++
	}
	if a.status == want || want == 0 && a.status >= 200 && a.status < 300 {
		return
	}
	r.Refused[a.status]++
	if r.Example == "" {
		r.Example = fmt.Sprintf("%.300q", raw[a.head:])
	}
}
