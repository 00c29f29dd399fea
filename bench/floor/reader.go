package floor

import (
	"bufio"
	"bytes"
)

func newReader(request []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(request)) }
