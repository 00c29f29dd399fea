package sdk

import (
	"fmt"

	"github.com/flagraft/flagraft/eval"
)

func bucketOf(state uint64, key string) float64 { return eval.Percentage(fmt.Sprint(state), key) }
