package main

import (
	"os"
	"strings"
)

// hideSecrets takes the values of secret flags out of what other users of the
// host see of this process (ps, /proc/PID/cmdline), and leaves them in os.Args.
// A moment of the start remains: files and variables are the better places.
func hideSecrets(flags []string) {
	secret := map[string]bool{}
	for _, f := range flags {
		secret[f] = true
	}
	next := false
	for i, arg := range os.Args {
		os.Args[i] = strings.Clone(arg)
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case next:
			blot(arg)
			next = false
		case !strings.HasPrefix(arg, "--") || !secret[name]:
		case joined:
			blot(arg[len(arg)-len(value):])
		default:
			next = true
		}
	}
}
