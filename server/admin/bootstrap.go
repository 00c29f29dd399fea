package admin

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
)

// EnsureAdmin gives an installation without users its superuser, and an organisation of which it is the ADMIN ("": none). passwordHash is
// what credential.Passwords made. Where there are users it changes nothing and reports false.
func EnsureAdmin(tx *fsm.Tx, email, passwordHash, organisationName string) (user fsm.User, organisation fsm.Organisation, created bool) {
	if hasUsers(tx) {
		return user, organisation, false
	}
	user = fsm.Users.Put(tx, fsm.User{UUID: tx.NewUUID(), Email: strings.ToLower(email), PasswordHash: passwordHash, FirstName: "Admin",
		LastName: "User", IsActive: true, IsSuperuser: true, DateJoined: tx.Now()})
	if organisationName != "" {
		organisation = newOrganisation(tx, organisationName)
		addMember(tx, organisation.ID, user.ID, fsm.RoleAdmin)
	}
	return user, organisation, true
}
