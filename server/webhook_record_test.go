package server

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestACallIsRecordedWhereItBelongs: a backup that is restored during a call may have another event of its number, which nobody has sent.
func TestACallIsRecordedWhereItBelongs(t *testing.T) {
	f := fsmtest.New(t)
	d := newDeliverer(&Node{fsm: f.FSM, writer: f.Writer, settings: settings.Defaults(), log: slog.New(slog.DiscardHandler), Clock: time.Now})
	write := func(e fsm.WebhookDelivery) (out fsm.WebhookDelivery) {
		f.Write(t, func(tx *fsm.Tx) error { out = fsm.WebhookDeliveries.Put(tx, e); return nil })
		return out
	}
	outcome := func(sent fsm.WebhookDelivery) fsm.DeliveryOutcome {
		require.NoError(t, d.record(t.Context(), sent, fsm.DeliveryDelivered, 200, nil))
		now, ok := fsm.WebhookDeliveries.Get(f.FSM.State(), sent.ID)
		require.True(t, ok)
		return now.Outcome
	}
	sent := write(fsm.WebhookDelivery{Webhook: 1, Created: 5, Body: []byte("{}")})
	for _, change := range []func(e *fsm.WebhookDelivery){func(e *fsm.WebhookDelivery) { e.Webhook = 2 }, func(e *fsm.WebhookDelivery) { e.Created = 6 }} {
		other := sent
		change(&other)
		write(other)
		require.Equal(t, fsm.DeliveryWaiting, outcome(sent))
	}
	write(sent)
	require.Equal(t, fsm.DeliveryDelivered, outcome(sent))
}
