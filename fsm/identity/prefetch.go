//go:build amd64 || arm64

package identity

// prefetch has the processor read the cache line of p and goes on: unlike a load, it holds up nothing that comes after it.
//
//go:noescape
func prefetch(p *uint64)
