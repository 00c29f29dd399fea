package fsm

import "context"

// CompileView is compileView for external tests.
var CompileView = compileView

// Refresh runs what an untouched environment's actor does now and then.
func (l *Live) Refresh() { l.refresh() }

// WaitFor waits for the View alone, whatever touched the environment.
func (l *Live) WaitFor(ctx context.Context, index uint64) error { return l.reached.Wait(ctx, index) }
