package seed

import (
	"fmt"

	"github.com/flagraft/flagraft/bench/load"
)

// Toggles switches feature states on and off, one after the other, as an account with
// a token does. on is what they become first.
func Toggles(token string, paths []string, on bool) load.Source {
	n := -1
	return func(dst []byte) []byte {
		n++
		body := fmt.Sprintf(`{"enabled":%t}`, (n/len(paths)%2 == 0) == on)
		return fmt.Appendf(dst, "PATCH %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nAccept: application/json\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", paths[n%len(paths)], token, len(body), body)
	}
}
