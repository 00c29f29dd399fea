//go:build !amd64 && !arm64

package identity

func prefetch(*uint64) {}
