package lanes

import "golang.org/x/sys/cpu"

var available = cpu.X86.HasAVX2

// hashBlocks takes one block of each lane into its state.
//
//go:noescape
func hashBlocks(s *state, words *[16][Width]uint32, sines *[64]uint32)
