package seed

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/bench/load"
)

// Requests makes the SDK requests of one environment.
type Requests struct {
	profile Profile
	key     string
}

// Requests returns the requests with an environment's key.
func (p Profile) Requests(key string) Requests { return Requests{p, key} }

const loaded = "user-"

func (r Requests) head(method, path string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Environment-Key: %s\r\nAccept: application/json\r\n", method, path, r.key)
}

// Flags asks for all flags.
func (r Requests) Flags() load.Source {
	request := r.head("GET", "/api/v1/flags/") + "\r\n"
	return func(dst []byte) []byte { return append(dst, request...) }
}

// FlagsUnless asks for all flags unless they have a tag.
func (r Requests) FlagsUnless(tag string) load.Source {
	request := r.head("GET", "/api/v1/flags/") + "If-None-Match: " + tag + "\r\n\r\n"
	return func(dst []byte) []byte { return append(dst, request...) }
}

// identity is a POST of one identity with everything but the number prepared: body
// lengths are fixed, so a request is a few copies.
type identity struct {
	head, open string
	tails      []string // by class
}

func (r Requests) identity(prefix string, traits int, extra string) identity {
	d := identity{open: `{"identifier":"` + prefix}
	for class := range r.profile.Kinds() {
		d.tails = append(d.tails, `","traits":`+r.profile.traitList(class, traits, extra)+`}`)
	}
	d.finish(r.head("POST", "/api/v1/identities/"))
	return d
}

// finish gives it its head.
func (d *identity) finish(head string) {
	d.head = head + "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(d.length()) + "\r\n\r\n"
}

// length is that of a body.
func (d *identity) length() int { return len(d.open) + identifierDigits + len(d.tails[0]) }

func (d *identity) append(dst []byte, n int) []byte {
	dst = append(append(dst, d.head...), d.open...)
	dst = appendIdentifier(dst, "", n)
	return append(dst, d.tails[n%len(d.tails)]...)
}

// traitList is a JSON list of traits; extra is one more item.
func (p Profile) traitList(class, traits int, extra string) string {
	list := "["
	for i := range traits {
		if i > 0 {
			list += ","
		}
		list += `{"trait_key":"` + traitKey(i) + `","trait_value":"` + p.traitValue(class, i) + `"}`
	}
	return list + extra + "]"
}

// Identity posts one loaded identity with the traits it has.
func (r Requests) Identity(n int) []byte {
	d := r.identity(loaded, r.profile.Traits, "")
	return d.append(nil, n)
}

// Unchanged posts random loaded identities with the traits they have.
func (r Requests) Unchanged(seed uint64) load.Source {
	d := r.identity(loaded, r.profile.Traits, "")
	random := rand.New(rand.NewPCG(seed, 1)) // any will do
	return func(dst []byte) []byte { return d.append(dst, random.IntN(r.profile.Identities)) }
}

// Transient posts the same identities as Unchanged, to be evaluated and not stored.
func (r Requests) Transient(seed uint64) load.Source {
	d := r.identity(loaded, r.profile.Traits, "")
	for kind, tail := range d.tails {
		d.tails[kind] = strings.TrimSuffix(tail, "}") + `,"transient":true}`
	}
	d.finish(r.head("POST", "/api/v1/identities/"))
	random := rand.New(rand.NewPCG(seed, 1)) // any will do
	return func(dst []byte) []byte { return d.append(dst, random.IntN(r.profile.Identities)) }
}

// Changing posts random loaded identities with the traits they have and one more,
// whose value is another each time.
func (r Requests) Changing(seed uint64) load.Source {
	const open, digits, end = `,{"trait_key":"seen","trait_value":"`, "0123456789", `"}`
	d := r.identity(loaded, r.profile.Traits, open+digits+end)
	random := rand.New(rand.NewPCG(seed, 2)) // any will do
	value := int(random.Uint32() % 1_000_000_000)
	return func(dst []byte) []byte {
		dst = d.append(dst, random.IntN(r.profile.Identities))
		value++
		at := len(dst) - len("]}") - len(end) - len(digits)
		appendIdentifier(dst[:at], "s", value%1_000_000_000)
		return dst
	}
}

// New posts identities that do not exist yet. prefix must be another each time.
func (r Requests) New(prefix string) load.Source {
	d := r.identity(prefix, r.profile.NewTraits, "")
	n := -1
	return func(dst []byte) []byte { n++; return d.append(dst, n) }
}

// BulkSize is the largest number of identities in one bulk request.
const BulkSize = 100

// Bulk posts new identities, [BulkSize] a request.
func (r Requests) Bulk(prefix string) load.Source { return r.bulk(prefix, r.profile.NewTraits) }

// Load posts the profile's identities in [Requests.Loads] requests.
func (r Requests) Load() load.Source { return r.bulk(loaded, r.profile.Traits) }

// Loads is the number of requests of Load.
func (r Requests) Loads() int { return (r.profile.Identities + BulkSize - 1) / BulkSize }

func (r Requests) bulk(prefix string, traits int) load.Source {
	d := r.identity(prefix, traits, "")
	const open, end = `{"data":[`, "]}"
	item := d.length()
	head := r.head("POST", "/api/v1/bulk-identities/") + "Content-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(open)+BulkSize*item+BulkSize-1+len(end)) + "\r\n\r\n" + open
	n := 0
	return func(dst []byte) []byte {
		dst = append(dst, head...)
		for i := range BulkSize {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, d.open...)
			dst = appendIdentifier(dst, "", n)
			dst = append(dst, d.tails[n%len(d.tails)]...)
			n++
		}
		return append(dst, end...)
	}
}
