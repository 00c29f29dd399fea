package admin

import (
	"sync"
	"time"

	"github.com/flagraft/flagraft/fsm"
)

// An account is closed for a while after so many wrong passwords or codes (FACTS §4).
const (
	maxFailedLogins = 10
	lockTime        = 15 * time.Minute
)

// Lockout counts the failed sign-ins of accounts, on the node that leads: only the tenth within the lock time is written to the log, where
// it closes the account on every node. A new leader counts from nothing.
type Lockout struct {
	clock func() time.Time

	mu       sync.Mutex // as in Throttle
	failures map[uint64][]time.Time
}

// NewLockout makes one without failures.
func NewLockout(clock func() time.Time) *Lockout {
	return &Lockout{clock: clock, failures: map[uint64][]time.Time{}}
}

// Failed counts a failure and reports whether the account is to be closed; then the count starts anew.
func (l *Lockout) Failed(user uint64) bool {
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	recent := l.failures[user]
	for len(recent) > 0 && now.Sub(recent[0]) >= lockTime {
		recent = recent[1:]
	}
	recent = append(recent, now)
	if len(recent) >= maxFailedLogins {
		delete(l.failures, user)
		return true
	}
	l.failures[user] = recent
	return false
}

// Passed forgets the failures of an account that signed in.
func (l *Lockout) Passed(user uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, user)
}

// maySignIn reports whether the account is open.
func (c *Ctx) maySignIn(u fsm.User) bool { return u.ID != 0 && u.IsActive && u.LockedUntil <= c.Wall() }

// lock closes an account, if it is not closed already.
func (c *Ctx) lock(user uint64) {
	if u, ok := fsm.Users.Get(c, user); ok && c.maySignIn(u) {
		u.LockedUntil = c.Wall().Add(lockTime)
		fsm.Users.Put(c.Tx, u)
	}
}
