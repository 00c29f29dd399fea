package server

import (
	"errors"
	"log/slog"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
)

// Recovery is the data directory of a stopped node whose cluster lost its
// majority for good; see docs/operations/cluster.md.
type Recovery struct {
	*cluster.Stopped
	log *slog.Logger
}

// RecoverySurvey is what a stopped node knows.
type RecoverySurvey = cluster.Survey

// RecoveryMember is a member of the configuration that recovery writes.
type RecoveryMember = cluster.RecoveryMember

// OpenRecovery opens the data directory of a node that does not run.
func OpenRecovery(dir string, log *slog.Logger) (*Recovery, error) {
	s, err := cluster.OpenStopped(dir, log)
	if err != nil {
		return nil, err
	}
	return &Recovery{s, log}, nil
}

// Recover makes members the configuration of the cluster; without members, this
// node alone, at the address it had. It returns them.
func (r *Recovery) Recover(members []RecoveryMember) ([]RecoveryMember, error) {
	members, err := r.Plan(members)
	if err != nil {
		return nil, err
	}
	views := fsm.NewViews(r.log)
	defer views.Stop()
	state := fsm.New(r.log, views)
	state.GiveUpRestores()
	return members, r.Stopped.Recover(members, state, func() uint64 { return state.State().Index })
}

// Plan is the configuration that Recover would write.
func (r *Recovery) Plan(members []RecoveryMember) ([]RecoveryMember, error) {
	if len(members) > 0 {
		return members, r.Check(members)
	}
	survey, err := r.Survey()
	if err != nil {
		return nil, err
	}
	for _, m := range survey.Members {
		if m.ID == survey.NodeID {
			return []RecoveryMember{{ID: m.ID, Address: m.Address}}, nil
		}
	}
	return nil, errors.New("this node is in no configuration that it knows: name the members")
}
