package seed

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/flagraft/flagraft/bench/load"
)

// Short are identities with five short traits, 19 bytes of literals: what memory is measured with.
type Short struct{}

// ShortKeys are the keys of the traits.
var ShortKeys = [...]string{"plan", "age", "beta", "country", "score"}

// Identifier is that of identity n, in an order that is not the one of creation.
func (Short) Identifier(dst []byte, n int) []byte {
	return strconv.AppendInt(append(dst, "user-"...), int64(n*2654435761%1_000_000_007), 10)
}

// Literals are the values as JSON; another salt makes others of the same size.
func (Short) Literals(n, salt int) [len(ShortKeys)]string {
	return [...]string{
		[3]string{`"free"`, `"gold"`, `"team"`}[(n+salt)%3], strconv.Itoa(18 + (n+salt)%60), strconv.FormatBool((n+salt)%2 == 0),
		[3]string{`"DE"`, `"FR"`, `"US"`}[n%3], strconv.FormatFloat(float64((n+salt)%90+10)/4, 'f', -1, 64),
	}
}

func (s Short) appendItem(dst []byte, n, salt int) []byte {
	dst = append(s.Identifier(append(dst, `{"identifier":"`...), n), `","traits":[`...)
	for i, literal := range s.Literals(n, salt) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"trait_key":"`...), ShortKeys[i]...), `","trait_value":`...)
		dst = append(append(dst, literal...), '}')
	}
	return append(dst, "]}"...)
}

// ShortBulk posts the identities from first on, [BulkSize] a request.
func (r Requests) ShortBulk(first int) load.Source {
	n := first - 1
	return r.shortBulk(func() (int, int) { n++; return n, 0 })
}

// ShortPuts posts identities in turn that are new, from first on, and that are there
// and change: random ones below first.
func (r Requests) ShortPuts(first int, seed uint64) load.Source {
	random, next, calls := rand.New(rand.NewPCG(seed, 3)), first, 0 // any will do
	return r.shortBulk(func() (int, int) {
		if calls++; calls%2 == 0 {
			return random.IntN(first), 1 + calls%1000
		}
		next++
		return next - 1, 0
	})
}

func (r Requests) shortBulk(next func() (n, salt int)) load.Source {
	head, body := r.head("POST", "/api/v1/bulk-identities/"), []byte(nil)
	return func(dst []byte) []byte {
		body = append(body[:0], `{"data":[`...)
		for i := range BulkSize {
			if i > 0 {
				body = append(body, ',')
			}
			n, salt := next()
			body = Short{}.appendItem(body, n, salt)
		}
		body = append(body, "]}"...)
		dst = append(dst, head...)
		dst = fmt.Appendf(dst, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
		return append(dst, body...)
	}
}
