package server

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// logLevel tells the least severe level that is logged.
func (m *management) logLevel(w http.ResponseWriter, _ *http.Request) {
	if m.node.LogLevel == nil {
		http.Error(w, "The level of this log does not change.", http.StatusNotFound)
		return
	}
	_, _ = fmt.Fprintln(w, strings.ToLower(m.node.LogLevel.Level().String()))
}

// setLogLevel changes it until the next start: the body is debug, info, warn or error. No page in a browser can send a PUT here unasked.
func (m *management) setLogLevel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64))
	name := strings.ToLower(strings.TrimSpace(string(body)))
	level, ok := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[name]
	if err != nil || !ok {
		http.Error(w, "The body must be debug, info, warn or error.", http.StatusBadRequest)
		return
	}
	if m.node.LogLevel != nil {
		before := m.node.LogLevel.Level()
		m.node.LogLevel.Set(level)
		m.node.log.Log(r.Context(), max(level, slog.LevelWarn), "log level changed", "from", before, "to", level)
	}
	m.logLevel(w, r)
}
