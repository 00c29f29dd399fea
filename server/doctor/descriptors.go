package doctor

import (
	"context"
	"math"

	"github.com/flagraft/flagraft/server"
)

func (p *patient) checkDescriptors(context.Context) {
	have, want := server.Descriptors(), int64(max(p.settings.MaxConnections, 0))+server.SpareDescriptors
	switch {
	case have == math.MaxInt64:
		p.found("file descriptors", Skipped, "", "the system does not say how many there may be")
	case have < want:
		p.found("file descriptors", Warning, "Raise the limit (LimitNOFILE= of systemd, --ulimit nofile of containers), or lower --max-connections.", "%d, while --max-connections may need %d: there are fewer connections, then", have, want)
	default:
		p.found("file descriptors", OK, "", "%d, enough for --max-connections", have)
	}
}
