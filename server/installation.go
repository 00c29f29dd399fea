package server

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// installation is what somebody may know who has not signed in: which doors there are.
type installation struct {
	Version  string `json:"version"`
	HasUsers bool   `json:"has_users"` // else the first account that registers is the superuser
	// Registration says who may make an account: open (anybody), invited or closed.
	Registration string `json:"registration"`
	Mails        bool   `json:"mails"`        // they leave the installation
	InviteLinks  bool   `json:"invite_links"` // they can be made and followed
}

func (n *Node) installationRows() []route.Row {
	return []route.Row{{Method: "GET", Path: "/api/flagraft/v1/installation/", OperationID: "flagraft_v1_installation_retrieve", Tag: "Authentication",
		Summary: "Which ways in there are.", Handler: route.Func(n.installation)}}
}

func (n *Node) installation(*route.Call, struct{}) (installation, error) {
	i := installation{Version: n.build.Version, Registration: "open", Mails: n.settings.SMTPAddr != "",
		InviteLinks: !n.settings.DisableInviteLinks}
	switch {
	case n.settings.PreventSignup:
		i.Registration = "closed"
	case n.settings.RegistrationInvite:
		i.Registration = "invited"
	}
	for range fsm.Users.Refs(n.fsm.State()) {
		i.HasUsers = true
		break
	}
	return i, nil
}
