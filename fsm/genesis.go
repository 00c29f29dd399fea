package fsm

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"
)

// newGenesis makes the first entry of an installation's log.
func newGenesis(now time.Time) []byte {
	g := Genesis{Cluster: uuid.New(), Epoch: newEpoch(), Time: TimeOf(now), Level: BaseLevel}
	rand.Read(g.Seed[:]) // never fails
	return newEntry(KindGenesis, BaseLevel, must(encMode.Marshal(&g)))
}

// newEpoch makes the first part of index tokens: 8 characters [a-z2-7].
func newEpoch() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return epochOf(b)
}

func epochOf(b [8]byte) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b[:])
}
