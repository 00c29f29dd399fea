package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// renamed are the switches of earlier versions that have another name now. One that is
// still on is a fault: an unknown variable counts for nothing, and without its switch a
// read replica would be given a vote.
var renamed = []struct{ name, now string }{
	{"read-replica", "it is called non-voter now"},
	{"trust-proxy-headers", "trusted-proxies takes its place, with the addresses of the proxies"},
}

// registerRenamed lets the command line parse, so that Load can say what the switches are called.
func registerRenamed(flags *pflag.FlagSet) {
	for _, r := range renamed {
		flags.Bool(r.name, false, "")
		if err := flags.MarkHidden(r.name); err != nil {
			panic(err) // it was just made
		}
	}
}

// refuseRenamed reports the switches that are still on under their old names, and takes them out of the file.
func (l *Loader) refuseRenamed(file map[string]yaml.Node) (faults []error) {
	for _, r := range renamed {
		old := setting{name: r.name, env: "FLAGRAFT_" + strings.ToUpper(strings.ReplaceAll(r.name, "-", "_"))}
		given, err := l.lookup(old, file)
		delete(file, r.name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if on, err := strconv.ParseBool(given.text); given.place == nowhere || err == nil && !on {
			continue
		}
		faults = append(faults, fmt.Errorf("%s is a setting of an earlier version: %s", given.from, r.now))
	}
	return faults
}
