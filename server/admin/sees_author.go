package admin

import (
	"slices"

	"github.com/flagraft/flagraft/fsm"
)

// SeesAuthor reports whether somebody may know that an author changed something: both belong to one organisation. What superusers and the
// installation itself do concerns everybody.
func SeesAuthor(r fsm.Reader, who, author fsm.Author) bool {
	if author == who || author.User == 0 && author.MasterAPIKey == 0 || isSuperuser(r, author.User) || isSuperuser(r, who.User) {
		return true
	}
	theirs := organisationsOf(r, author)
	return slices.ContainsFunc(organisationsOf(r, who), func(id uint64) bool { return slices.Contains(theirs, id) })
}

func isSuperuser(r fsm.Reader, id uint64) bool {
	u := fsm.Users.Ref(r, id)
	return u != nil && u.IsSuperuser
}

func organisationsOf(r fsm.Reader, a fsm.Author) (ids []uint64) {
	for m := range fsm.MembershipsByUser.Refs(r, a.User) {
		ids = append(ids, m.Organisation)
	}
	if k := fsm.MasterAPIKeys.Ref(r, a.MasterAPIKey); k != nil {
		ids = append(ids, k.Organisation)
	}
	return ids
}
