package tools

import (
	"fmt"
	"net/url"

	"github.com/stretchr/testify/require"
)

func path(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// pathAndQuery is what is used of an address that the server gave; none: "".
func pathAndQuery(x *tool, address *string) string {
	if address == nil {
		return ""
	}
	return parse(x, *address).RequestURI()
}

func parse(x *tool, address string) *url.URL {
	x.Helper()
	u, err := url.Parse(address)
	require.NoError(x, err)
	return u
}
