package admin

import (
	"slices"

	"github.com/flagraft/flagraft/server/route"
)

// Rows lists every endpoint of the admin API, a line per resource file.
func Rows() []route.Row {
	return slices.Concat(
		tagRows(),
	)
}
