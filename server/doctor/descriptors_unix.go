//go:build unix

package doctor

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/flagraft/flagraft/server"
)

func (p *patient) checkDescriptors(context.Context) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		p.found("file descriptors", Skipped, "", "%v", err)
		return
	}
	most := uint64(limit.Max) //nolint:unconvert // its type differs between systems; the runtime raises the soft limit to it
	want := uint64(max(p.settings.MaxConnections, 0)) + server.SpareDescriptors
	if most < want {
		p.found("file descriptors", Warning, "Raise the limit (LimitNOFILE= of systemd, --ulimit nofile of containers), or lower --max-connections.", "%d, while --max-connections may need %d: there are fewer connections, then", most, want)
		return
	}
	p.found("file descriptors", OK, "", "%d, enough for --max-connections", most)
}
