package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/fsmtest"
	"github.com/flagraft/flagraft/server/portable"
	"github.com/flagraft/flagraft/server/settings"
)

// endsWhen is a context that has ended once something is so.
type endsWhen struct {
	context.Context
	so func() bool
}

func (c endsWhen) Err() error {
	if c.so() {
		return context.DeadlineExceeded
	}
	return nil
}

// importNode is the part of a node that imports, and a document of two projects with identities.
func importNode(t *testing.T) (n *Node, request []byte, projects, identities func() int) {
	f := fsmtest.New(t)
	log := slog.New(slog.DiscardHandler)
	n = &Node{fsm: f.FSM, writer: f.Writer, identities: f.Identities, settings: settings.Defaults(), log: log, Clock: time.Now}
	d := portable.Document{Format: portable.Format, Version: portable.Version, Identities: true, Organisations: []portable.Organisation{{Name: "o"}}}
	for _, name := range []string{"first", "second"} {
		d.Organisations[0].Projects = append(d.Organisations[0].Projects, portable.Project{Name: name,
			Environments: []portable.Environment{{Name: "e", APIKey: "key-of-" + name, Identities: []portable.Identity{{Identifier: "who"}}}}})
	}
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	request, err = cbor.Marshal(importRequest{Document: raw})
	require.NoError(t, err)
	projects = func() (count int) {
		for range fsm.Projects.Refs(f.FSM.State()) {
			count++
		}
		return count
	}
	identities = func() (count int) {
		stores := f.FSM.State().Identities()
		for _, e := range stores.Environments() {
			count += stores.Environment(e).Count()
		}
		return count
	}
	return n, request, projects, identities
}

// An import whose time is up leaves no identities behind.
func TestImportThatEndsDropsItsIdentities(t *testing.T) {
	n, request, projects, identities := importNode(t)
	seen := false
	answer, err := n.handleImport(endsWhen{t.Context(), func() bool { seen = seen || identities() > 0; return seen }}, "", request)
	require.Error(t, err, string(answer))
	require.Zero(t, projects())
	require.Zero(t, identities())
}

// An import in whose middle a backup is restored has lost the identities that it had created: it does not make a project without them.
func TestImportThatLostItsIdentitiesIsNone(t *testing.T) {
	n, request, projects, _ := importNode(t)
	var ask importRequest
	require.NoError(t, cbor.Unmarshal(request, &ask))
	d, err := portable.Parse(ask.Document)
	require.NoError(t, err)
	o := &d.Organisations[0]
	_, err = n.writer.Write(t.Context(), fsm.Author{}, func(tx *fsm.Tx) error {
		_, err := o.Projects[0].Import(tx, o, portable.Target{Environments: []uint64{tx.NextEnvironmentID()}})
		return err
	})
	require.ErrorContains(t, err, "0 of 1 identities are there")
	require.Zero(t, projects())
}

// An import that fails behind its first project is not said to have written nothing.
func TestImportThatEndsInBetweenIsUnknown(t *testing.T) {
	n, request, projects, _ := importNode(t)
	_, err := n.handleImport(endsWhen{t.Context(), func() bool { return projects() > 0 }}, "", request)
	require.Equal(t, 1, projects())
	require.ErrorIs(t, err, cluster.ErrUnknownOutcome)
}

// What is no entry of counters is not proposed: no node could apply it.
func TestUsageIsCheckedBeforeItIsProposed(t *testing.T) {
	for _, entry := range [][]byte{nil, []byte("x"), {byte(fsm.KindUsageBatch), fsm.BaseLevel, 0xff}, fsm.NewLevelEntry(200, time.Now())} {
		_, err := (&Node{Clock: time.Now}).serveUsage(t.Context(), "peer", entry)
		require.ErrorIs(t, err, fsm.ErrFormat)
	}
}
