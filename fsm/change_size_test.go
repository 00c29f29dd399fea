package fsm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One delete may be a few bytes in the log and concern more than a write may be large: what was there stands in the change log.
func TestSnapshotOfALargeChangeIsRead(t *testing.T) {
	s := newRestoreBed(t)
	value := strings.Repeat("x", 20_000)
	for i := range 3 {
		s.write(t, func(tx *Tx) {
			for j := range 400 {
				FeatureStates.Put(tx, FeatureState{UUID: tx.NewUUID(), Feature: uint64(400*i + j + 1), Environment: 1, Value: FeatureValue{Type: Unicode, String: &value}})
			}
		})
	}
	throughSnapshot(t, s.FSM)
	s.write(t, func(tx *Tx) { FeatureStatesByEnvironment.DeleteAll(tx, uint64(1)) })
	throughSnapshot(t, s.FSM)
	_, err := VerifyBackup(bytes.NewReader(backupBytes(t, s.FSM)))
	require.NoError(t, err, fmt.Sprint(s.State().Index))
}

// A transaction may do nothing but take a number for a later one.
func TestReservedNumbersAreNotGivenAgain(t *testing.T) {
	s := newRestoreBed(t)
	var first, second uint64
	s.write(t, func(tx *Tx) { first = tx.NextEnvironmentID() })
	s.write(t, func(tx *Tx) { second = tx.NextEnvironmentID() })
	require.NotEqual(t, first, second)
}
