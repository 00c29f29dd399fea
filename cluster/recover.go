package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// Stopped is the data directory of a node that does not run, locked until Close.
type Stopped struct {
	dir   string
	log   *slog.Logger
	lock  *os.File
	id    identity
	store *logStore
	snaps raft.SnapshotStore
}

// Survey is what a stopped node knows.
type Survey struct {
	NodeID    string           `json:"node_id"`
	ClusterID string           `json:"cluster_id"` // "" = it never was in a cluster
	Removed   bool             `json:"removed"`    // its cluster took it out
	Members   []RecoveryMember `json:"members"`    // the newest configuration it has, committed or not
	LastIndex uint64           `json:"last_index"` // of its log and snapshots
	LastTerm  uint64           `json:"last_term"`
}

// RecoveryMember is a member of a configuration that is written by hand.
type RecoveryMember struct {
	ID       string `json:"id"`
	Address  string `json:"address"`
	NonVoter bool   `json:"non_voter"`
}

// OpenStopped locks and opens the data directory of a node that does not run.
func OpenStopped(dir string, log *slog.Logger) (*Stopped, error) {
	if !exists(filepath.Join(dir, identityFileName)) || !hasLog(dir) {
		return nil, fmt.Errorf("cluster: %s is not the data directory of a node", dir)
	}
	lock, err := lockDataDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Stopped{dir: dir, log: log, lock: lock}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stopped) open() (err error) {
	if s.id, err = loadIdentity(s.dir, ""); err != nil {
		return err
	}
	// Corruption comes back as an error, too.
	if s.store, err = openLogStore(s.dir, 0, func(error) {}); err != nil {
		return err
	}
	if s.snaps, err = raft.NewFileSnapshotStoreWithLogger(s.dir, keptSnapshots, newRaftLogger(s.log)); err != nil {
		return err
	}
	return checkSnapshots(s.dir)
}

// Close unlocks the directory.
func (s *Stopped) Close() error {
	var err error
	if s.store != nil {
		err = s.store.close()
	}
	return errors.Join(err, s.lock.Close())
}

// config is Raft's, as far as a stopped node needs one.
func (s *Stopped) config() *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(s.id.NodeID)
	conf.Logger = newRaftLogger(s.log)
	conf.NoSnapshotRestoreOnStart = true
	conf.NoLegacyTelemetry = true
	return conf
}

// nowhere is a transport that talks to nobody.
func nowhere() raft.Transport {
	_, t := raft.NewInmemTransport("")
	return t
}

// Survey reads what the node knows.
func (s *Stopped) Survey() (Survey, error) {
	out := Survey{NodeID: s.id.NodeID}
	for key, set := range map[string]func(string){
		string(keyClusterID): func(v string) { out.ClusterID = v },
		string(keyRemoved):   func(v string) { out.Removed = v != "" },
	} {
		raw, err := s.store.Get([]byte(key))
		if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
			return out, fmt.Errorf("cluster: read %s: %w", key, err)
		}
		set(string(raw))
	}
	conf, err := raft.GetConfiguration(s.config(), newMachine(nil, nil), s.store, s.store, s.snaps, nowhere())
	if err != nil {
		return out, fmt.Errorf("cluster: read configuration: %w", err)
	}
	for _, m := range conf.Servers {
		out.Members = append(out.Members, RecoveryMember{string(m.ID), string(m.Address), m.Suffrage != raft.Voter})
	}
	out.LastIndex, out.LastTerm, err = s.last()
	return out, err
}

// last is where the log, or else the newest snapshot, ends.
func (s *Stopped) last() (index, term uint64, err error) {
	list, err := s.snaps.List()
	if err != nil {
		return 0, 0, fmt.Errorf("cluster: list snapshots: %w", err)
	}
	if len(list) > 0 {
		index, term = list[0].Index, list[0].Term
	}
	at, err := s.store.LastIndex()
	if err != nil || at <= index {
		return index, term, err
	}
	var l raft.Log
	if err := s.store.GetLog(at, &l); err != nil {
		return 0, 0, fmt.Errorf("cluster: read log at %d: %w", at, err)
	}
	return l.Index, l.Term, nil
}

// Recover makes members the configuration of the cluster, for when a majority
// is lost for good. Everything in this node's log counts as committed, also
// what never was acknowledged; what only the lost nodes had is gone. This node
// must be a voter among the members. state is an empty FSM, index tells its
// last applied entry.
//
// The lost nodes must never run again with their old data directories: they
// know nothing of this and could elect a leader of their own.
func (s *Stopped) Recover(members []RecoveryMember, state raft.FSM, index func() uint64) error {
	survey, err := s.Survey()
	switch {
	case err != nil:
		return err
	case survey.ClusterID == "" || len(survey.Members) == 0:
		return errors.New("cluster: this node never was in a cluster: there is nothing to recover; empty its data directory and start it")
	case survey.Removed:
		return errors.New("cluster: this node was removed from its cluster: recover another one, then empty this data directory")
	}
	if err := s.Check(members); err != nil {
		return err
	}
	var conf raft.Configuration
	for _, m := range members {
		server := raft.Server{ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Address)}
		if m.NonVoter {
			server.Suffrage = raft.Nonvoter
		}
		conf.Servers = append(conf.Servers, server)
	}
	m := newMachine(state, index)
	if err := s.readable(m); err != nil {
		return err
	}
	if err := noteLeftOut(s.store, survey.Members, members); err != nil {
		return fmt.Errorf("cluster: recover: %w", err)
	}
	if err := raft.RecoverCluster(s.config(), m, s.store, s.store, s.snaps, nowhere(), conf); err != nil {
		return fmt.Errorf("cluster: recover: %w", err)
	}
	return nil
}

// readable is why the machine cannot apply some entry of the log: Raft would find out in the middle of it.
func (s *Stopped) readable(m *machine) error {
	first, err := s.store.FirstIndex()
	if err != nil {
		return fmt.Errorf("cluster: read log: %w", err)
	}
	last, err := s.store.LastIndex()
	if err != nil {
		return fmt.Errorf("cluster: read log: %w", err)
	}
	for index := max(first, 1); index <= last; index++ {
		var l raft.Log
		if err := s.store.GetLog(index, &l); err != nil {
			return fmt.Errorf("cluster: read log at %d: %w", index, err)
		}
		if err := m.readable(&l); err != nil {
			return err
		}
	}
	return nil
}

// Check refuses lists that no cluster with this node could start from.
func (s *Stopped) Check(members []RecoveryMember) error { return checkRecovery(members, s.id.NodeID) }

func checkRecovery(members []RecoveryMember, self string) error {
	at := map[string]bool{}
	sorted := slices.SortedFunc(slices.Values(members), func(a, b RecoveryMember) int { return cmp.Compare(a.ID, b.ID) })
	votes := false
	for i, m := range sorted {
		switch {
		case m.ID == "" || m.Address == "":
			return errors.New("cluster: every member needs an id and an address")
		case i > 0 && sorted[i-1].ID == m.ID:
			return fmt.Errorf("cluster: member %s is listed twice", m.ID)
		case at[m.Address]:
			return fmt.Errorf("cluster: two members are listed at %s", m.Address)
		}
		at[m.Address] = true
		votes = votes || m.ID == self && !m.NonVoter
	}
	if !votes {
		return fmt.Errorf("cluster: this node, %s, must be a voter among the members", self)
	}
	return nil
}
