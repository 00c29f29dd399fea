package sdk

import (
	"testing"

	"go.uber.org/goleak"
)

// fasthttp's clock for the Date header never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}
