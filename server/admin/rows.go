package admin

import (
	"slices"

	"github.com/flagraft/flagraft/server/route"
)

// Rows returns every row of the admin API.
func Rows() []route.Row {
	return slices.Concat(
		tagRows(),
	)
}
