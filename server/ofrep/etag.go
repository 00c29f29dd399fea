package ofrep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/flagraft/flagraft/server/route"
)

// tagOf is the quoted entity tag of a bulk answer and the context it was made
// for: the order of the attributes does not matter.
func tagOf(body []byte, p person) string {
	h := sha256.New()
	h.Write(body)
	part := route.AppendString(nil, p.identifier)
	for _, t := range sorted(p.attributes) {
		part = route.AppendString(append(part, ','), t.name)
		part = append(append(part, ':'), t.literal...)
	}
	h.Write(part)
	return `"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// matches looks for a tag in an If-None-Match list; weak ones count.
func matches(list []byte, tag string) bool {
	return string(list) == "*" || bytes.Contains(list, []byte(tag))
}
