package fsm

import (
	"context"
	"time"
)

// CompileView is compileView for external tests.
var CompileView = compileView

// CompilePace is compilePace for external tests.
type CompilePace = compilePace

// After is after.
func (p *compilePace) After(start time.Time, took time.Duration) time.Duration {
	return p.after(start, took)
}

// The bounds of compilePace.
const (
	CompileShare = compileShare
	CompileBurst = compileBurst
)

// RunDue makes one round of a Scheduler.
func RunDue(ctx context.Context, s *Scheduler) error { return s.due(ctx) }

// Refresh runs what an untouched environment's actor does now and then.
func (l *Live) Refresh() { l.refresh() }

// WaitFor waits for the View alone, whatever touched the environment.
func (l *Live) WaitFor(ctx context.Context, index uint64) error { return l.reached.Wait(ctx, index) }
