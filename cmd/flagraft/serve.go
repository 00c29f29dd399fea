package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node",
		Long: "Run a node. One node needs no flag. For a cluster give every node the same --bootstrap-expect N, --join host,host and --cluster-secret,\n" +
			"and a --cluster-addr and --gossip-addr that the others reach.",
		Example: `  flagraft serve --demo
  FLAGRAFT_CLUSTER_SECRET_FILE=/etc/flagraft/secret flagraft serve --config /etc/flagraft/flagraft.yaml
  flagraft serve --bootstrap-expect 3 --join node-a:8001,node-b:8001,node-c:8001 --cluster-addr :8001 --gossip-addr :8002`,
		Args: exactly(0, "no arguments"),
	}
	loader := settings.Register(cmd.Flags())
	completeSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		st, err := loader.Load()
		if err == nil {
			err = server.CheckSettings(st)
		}
		if err != nil {
			return &codedError{exitUsage, err}
		}
		return serve(cmd.Context(), st)
	}
	return cmd
}

// serve runs a node until the process is told to stop, which may be while it still starts; a second signal ends it at once.
func serve(ctx context.Context, st *settings.Settings) error {
	keepFilesPrivate()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // with the first signal the default handling is back
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from the start to the end: unhandled it ends the process
	signal.Ignore(syscall.SIGPIPE)        // who reads the log or the welcome may go: the runtime would end the process with the next line
	log, level := newLogger(st)
	limit, err := server.SetMemoryLimit(st.MemoryLimit, log)
	if err != nil {
		return &codedError{exitUsage, err}
	}
	if limit != math.MaxInt64 {
		log.Info("memory", "limit", limit)
	}
	node := server.New(st, build(), log)
	defer server.PaceCollector(node.Frozen).Stop()
	node.Clock, node.LogLevel = wallClock(), level
	if err := node.Start(ctx); err != nil {
		if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
			return fileIsUsage(err)
		}
		log.Info("told to stop before it served")
		return node.Stop(context.WithoutCancel(ctx)) // which the start has done: how that went
	}
	if st.Demo {
		welcome(ctx, node, log)
	}
	reloadOnHangup(ctx, hangup, node)
	log.Info("stopping")
	return stopWithin(context.WithoutCancel(ctx), st.StopTimeout+2*st.ProbeInterval, stopSlack, os.Stderr, node.Stop)
}

// stopSlack is what a stop may take beyond its bound, to give up what is left.
const stopSlack = 7 * time.Second

// stopWithin calls stop with a bound, and leaves it behind if it does not heed that: what was acknowledged is on disk, and who waits for this
// process to end would kill it next. What it waits for is written to out.
func stopWithin(ctx context.Context, bound, slack time.Duration, out io.Writer, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- stop(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(bound + slack):
		_ = pprof.Lookup("goroutine").WriteTo(out, 1) // nobody may be reading
		return fmt.Errorf("the node did not stop within %v: this is a fault; see what waits above", bound+slack)
	}
}

// reloadOnHangup has the node read its certificates again with each SIGHUP, until ctx ends.
func reloadOnHangup(ctx context.Context, hangup <-chan os.Signal, node *server.Node) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			node.Reload()
		}
	}
}

// welcome prints where to go, once there is something to see.
func welcome(ctx context.Context, node *server.Node, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	text, err := node.Welcome(ctx)
	if err != nil {
		log.Warn("no welcome", "error", err)
		return
	}
	_, _ = io.WriteString(os.Stdout, text) // nobody may be reading
}

// newLogger makes the log of a node, whose level can be changed.
func newLogger(st *settings.Settings) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(st.LogLevel)) // checked by the loader
	options := &slog.HandlerOptions{Level: level}
	if st.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), level
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options)), level
}
