#include "textflag.h"

// Y0 to Y3 are a, b, c and d of eight texts. Each macro leaves in Y4 what its
// round mixes of b, c and d. Y6 is all ones.
#define F(b, c, d) \
	VPXOR c, d, Y4; \
	VPAND b, Y4, Y4; \
	VPXOR d, Y4, Y4

#define G(b, c, d) F(d, b, c)

#define H(b, c, d) \
	VPXOR c, d, Y4; \
	VPXOR b, Y4, Y4

#define I(b, c, d) \
	VPXOR Y6, d, Y4; \
	VPOR  b, Y4, Y4; \
	VPXOR c, Y4, Y4

// STEP is a = b + ((a + mix(b, c, d) + words[word] + sines[i]) <<< by).
#define STEP(mix, a, b, c, d, i, word, by) \
	VPBROADCASTD (4*(i))(DX), Y5; \
	VPADDD (32*((word)&15))(SI), Y5, Y5; \
	VPADDD Y5, a, a; \
	mix(b, c, d); \
	VPADDD Y4, a, a; \
	VPSLLD $(by), a, Y5; \
	VPSRLD $(32-(by)), a, a; \
	VPOR Y5, a, a; \
	VPADDD b, a, a

// FOUR is the steps from i on; word and by go on from step to step.
#define FOUR(mix, i, word, more, by0, by1, by2, by3) \
	STEP(mix, Y0, Y1, Y2, Y3, i+0, (word)+0*(more), by0); \
	STEP(mix, Y3, Y0, Y1, Y2, i+1, (word)+1*(more), by1); \
	STEP(mix, Y2, Y3, Y0, Y1, i+2, (word)+2*(more), by2); \
	STEP(mix, Y1, Y2, Y3, Y0, i+3, (word)+3*(more), by3)

#define ROUND(mix, i, word, more, by0, by1, by2, by3) \
	FOUR(mix, i+0, word, more, by0, by1, by2, by3); \
	FOUR(mix, i+4, (word)+4*(more), more, by0, by1, by2, by3); \
	FOUR(mix, i+8, (word)+8*(more), more, by0, by1, by2, by3); \
	FOUR(mix, i+12, (word)+12*(more), more, by0, by1, by2, by3)

// func hashBlocks(s *state, words *[16][Width]uint32, sines *[64]uint32)
TEXT ·hashBlocks(SB), NOSPLIT, $0-24
	MOVQ s+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ sines+16(FP), DX
	VMOVDQU 0(DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VPCMPEQD Y6, Y6, Y6
	ROUND(F, 0, 0, 1, 7, 12, 17, 22)
	ROUND(G, 16, 1, 5, 5, 9, 14, 20)
	ROUND(H, 32, 5, 3, 4, 11, 16, 23)
	ROUND(I, 48, 0, 7, 6, 10, 15, 21)
	VPADDD 0(DI), Y0, Y0
	VPADDD 32(DI), Y1, Y1
	VPADDD 64(DI), Y2, Y2
	VPADDD 96(DI), Y3, Y3
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VZEROUPPER
	RET
