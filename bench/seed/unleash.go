package seed

import (
	"fmt"
	"math/rand/v2"

	"github.com/flagraft/flagraft/bench/load"
)

// Unleash makes requests about the same flags and identities to Unleash Edge.
type Unleash struct {
	profile Profile
	token   string
}

// Unleash returns the requests with a token.
func (p Profile) Unleash(token string) Unleash { return Unleash{p, token} }

func (u Unleash) head(method, path string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nAccept: application/json\r\n", method, path, u.token)
}

// Flags asks for all flags, on or off, of an empty context.
func (u Unleash) Flags() load.Source {
	request := u.head("GET", "/api/frontend/all") + "\r\n"
	return func(dst []byte) []byte { return append(dst, request...) }
}

func (u Unleash) identity() identity {
	d := identity{open: `{"userId":"` + loaded}
	for kind := range u.profile.Kinds() {
		tail := `","properties":{`
		for i, t := range u.profile.LoadedTraits(kind) {
			if i > 0 {
				tail += ","
			}
			tail += `"` + t.Key + `":"` + t.Value + `"`
		}
		d.tails = append(d.tails, tail+"}}")
	}
	d.finish(u.head("POST", "/api/frontend"))
	return d
}

// Identity asks for the flags of one loaded identity with its traits.
func (u Unleash) Identity(n int) []byte {
	d := u.identity()
	return d.append(nil, n)
}

// Identities asks for those of random ones.
func (u Unleash) Identities(seed uint64) load.Source {
	d := u.identity()
	random := rand.New(rand.NewPCG(seed, 1)) // any will do
	return func(dst []byte) []byte { return d.append(dst, random.IntN(u.profile.Identities)) }
}
