package server_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestImportsShareTheBodyBudget: who sends an import is known only when its body is there, so its bytes are counted before.
func TestImportsShareTheBodyBudget(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.MaxBodyBytesTotal = 20 << 20 })
	const size = 12 << 20
	head := "POST " + importPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: anything\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(size) + "\r\n\r\n"
	slow, err := net.Dial("tcp", strings.TrimPrefix(n.Base, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(slow, head+" ")
	require.NoError(t, err)
	whole := head + strings.Repeat(" ", size)
	require.Eventually(t, func() bool { return speak(t, n, whole).StatusCode == 503 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, slow.Close())
	require.Eventually(t, func() bool { return speak(t, n, whole).StatusCode == 401 }, 10*time.Second, 10*time.Millisecond, "there is room again")
}
