package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/settings"
)

// TestTimeOfHeads: a limit of bodies is none of heads where these are to have none.
func TestTimeOfHeads(t *testing.T) {
	for _, c := range [][3]time.Duration{{10, 30, 10}, {30, 10, 10}, {10, 0, 10}, {0, 30, 0}, {0, 0, 0}} {
		require.Equal(t, c[2], headTime(&settings.Settings{HeaderTimeout: c[0], ReadTimeout: c[1]}), c)
	}
}
