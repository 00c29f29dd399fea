//go:build !amd64

package lanes

const available = false

func hashBlocks(*state, *[16][Width]uint32, *[64]uint32) {
	panic("lanes: not on this processor")
}
