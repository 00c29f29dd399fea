package fsm

import "github.com/flagraft/flagraft/eval"

// View is one environment compiled for reading: immutable, published through one
// atomic pointer. It is compiled by the environment's actor from one State.
type View struct {
	Index       uint64 // of the state it was compiled from
	State       *State
	Environment *Environment
	Project     *Project
	Engine      *eval.Environment
}

func compileView(s *State, environment uint64, previous *View) *View {
	e := Environments.Ref(s, environment)
	if e == nil {
		return nil
	}
	_ = previous
	return &View{Index: s.Index, State: s, Environment: e, Project: Projects.Ref(s, e.Project)}
}
