package admin

import "github.com/flagraft/flagraft/fsm"

// groupItem is a permission group with its members.
type groupItem struct {
	ID         uint64        `json:"id"`
	Name       string        `json:"name"`
	Users      []groupMember `json:"users"`
	IsDefault  bool          `json:"is_default"`
	ExternalID *string       `json:"external_id"`
}

type groupMember struct {
	ID         uint64   `json:"id"`
	Email      string   `json:"email"`
	FirstName  string   `json:"first_name"`
	LastName   string   `json:"last_name"`
	LastLogin  fsm.Time `json:"last_login"`
	GroupAdmin bool     `json:"group_admin"`
}

// renderGroup shows a group, or gives nil when it does not exist any more.
func renderGroup(r fsm.Reader, id uint64) *groupItem {
	g, ok := fsm.Groups.Get(r, id)
	if !ok {
		return nil
	}
	out := &groupItem{ID: g.ID, Name: g.Name, IsDefault: g.IsDefault, ExternalID: g.ExternalID}
	for m := range fsm.GroupMembersByGroup.Refs(r, id) {
		if u := fsm.Users.Ref(r, m.User); u != nil {
			out.Users = append(out.Users, groupMember{ID: u.ID, Email: u.Email, FirstName: u.FirstName, LastName: u.LastName,
				LastLogin: u.LastLogin, GroupAdmin: m.GroupAdmin})
		}
	}
	return out
}
