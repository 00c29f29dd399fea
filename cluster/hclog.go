package cluster

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// raftLogger carries Raft's log lines to slog.
type raftLogger struct {
	hclog.Logger // answers what Raft never asks
	to           *slog.Logger
}

func newRaftLogger(to *slog.Logger) hclog.Logger {
	return raftLogger{hclog.NewNullLogger(), to}
}

func (l raftLogger) Log(level hclog.Level, msg string, args ...any) {
	at := slog.LevelDebug
	switch {
	case level >= hclog.Error:
		at = slog.LevelError
	case level >= hclog.Warn:
		at = slog.LevelWarn
	case level >= hclog.Info:
		at = slog.LevelInfo
	}
	if !l.to.Enabled(context.Background(), at) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			if format, ok := f[0].(string); ok {
				args[i] = fmt.Sprintf(format, f[1:]...)
			}
		}
	}
	l.to.Log(context.Background(), at, msg, args...)
}

func (l raftLogger) Trace(string, ...any)          {}
func (l raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l raftLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l raftLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l raftLogger) With(args ...any) hclog.Logger {
	return raftLogger{l.Logger, l.to.With(args...)}
}
func (l raftLogger) Named(string) hclog.Logger      { return l }
func (l raftLogger) ResetNamed(string) hclog.Logger { return l }

// gossipWriter carries memberlist's log lines to slog at level debug: they
// tell of hints only. What was not encrypted with a key of the ring is a warning.
type gossipWriter struct {
	to       *slog.Logger
	refusals *refusals
}

func (w gossipWriter) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	forged := strings.Contains(text, "decrypt") || strings.Contains(text, "not encrypted")
	if forged && w.refusals.first("gossip") {
		w.to.Warn("gossip refused", "note", text)
	} else {
		w.to.Debug(text)
	}
	return len(line), nil
}
