package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is shorter than what containers give a health check by default.
const healthTimeout = 3 * time.Second

func newHealthCommand() *cobra.Command {
	var management string
	var live bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the node on this machine whether it is ready",
		Long: `Ask the management port of a node whether it may be sent traffic (/readyz) or,
with --live, whether its process works (/livez). For the health checks of
containers, whose images have no other program that could ask.

Exit codes: 0 yes, 1 no, 2 wrong arguments, 3 no answer.`,
		Example: "  flagraft health\n  flagraft health --live --management 127.0.0.1:8013",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/readyz?verbose"
			if live {
				path = "/livez"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			return health(ctx, cmd.OutOrStdout(), cmp.Or(management, os.Getenv("FLAGRAFT_MANAGEMENT_ADDR"), "127.0.0.1:8003"), path)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask whether the process works, not whether it is ready")
	cmd.Flags().StringVar(&management, "management", "", "management address of the node (FLAGRAFT_MANAGEMENT_ADDR; default 127.0.0.1:8003)")
	return cmd
}

// health prints what the management port at a listen address answers; an error is not 200.
func health(ctx context.Context, w io.Writer, listening, path string) error {
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return usageError("management address: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() { // all addresses, so this one too
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return usageError("management address: %w", err)
	}
	// Not the default client: a proxy that the environment names knows nothing of this node.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return &codedError{exitUnreachable, err}
	}
	defer func() { _ = resp.Body.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return &codedError{exitUnreachable, err}
	}
	if _, err := fmt.Fprintln(w, strings.TrimSpace(string(text))); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &codedError{exitFailed, errors.New("the node answers " + resp.Status)}
	}
	return nil
}
