package fsm

import (
	"strings"

	"github.com/google/uuid"
)

// User is an account. The password is kept as an argon2id hash in its own text
// form ("$argon2id$v=19$m=…").
type User struct {
	ID                    uint64    `cbor:"1,keyasint"`
	UUID                  uuid.UUID `cbor:"2,keyasint"`
	Email                 string    `cbor:"3,keyasint"` // lower-case
	PasswordHash          string    `cbor:"4,keyasint,omitempty" secret:"true"`
	FirstName             string    `cbor:"5,keyasint,omitempty"`
	LastName              string    `cbor:"6,keyasint,omitempty"`
	IsActive              bool      `cbor:"7,keyasint,omitempty"`
	IsSuperuser           bool      `cbor:"8,keyasint,omitempty"`
	DateJoined            Time      `cbor:"9,keyasint"`
	LastLogin             Time      `cbor:"10,keyasint,omitempty"`
	SignUpType            *string   `cbor:"11,keyasint,omitempty"`
	MarketingConsentGiven bool      `cbor:"12,keyasint,omitempty"`
	Onboarding            []byte    `cbor:"13,keyasint,omitempty"` // JSON, stored as merged
	FailedLogins          uint32    `cbor:"14,keyasint,omitempty"`
	LockedUntil           Time      `cbor:"15,keyasint,omitempty"`
}

// Users is the table of accounts.
var (
	Users        = newTable[User](4, "FFAdminUser", func(u *User) *uint64 { return &u.ID }, nil)
	UsersByEmail = Users.index("email", func(u *User, k Key) (Key, bool) { return k.String(strings.ToLower(u.Email)), true })
)

// Token is a user's API token: one a user, until logout. Flagsmith's login shows
// the same token each time, so it is kept as it is.
type Token struct {
	ID      uint64 `cbor:"1,keyasint"`
	User    uint64 `cbor:"2,keyasint"`
	Key     string `cbor:"3,keyasint"` // 40 lower-case hex digits
	Created Time   `cbor:"4,keyasint"`
}

// Tokens is the table of user tokens.
var (
	Tokens       = newTable[Token](5, "Token", func(t *Token) *uint64 { return &t.ID }, nil)
	TokensByKey  = Tokens.index("key", func(t *Token, k Key) (Key, bool) { return k.String(t.Key), true })
	TokensByUser = Tokens.index("user", func(t *Token, k Key) (Key, bool) { return k.Uint(t.User), true })
)

// Group is a set of members that permissions can be given to.
type Group struct {
	ID           uint64  `cbor:"1,keyasint"`
	Organisation uint64  `cbor:"2,keyasint"`
	Name         string  `cbor:"3,keyasint"`
	IsDefault    bool    `cbor:"4,keyasint,omitempty"`
	ExternalID   *string `cbor:"5,keyasint,omitempty"`
}

// Groups is the table of permission groups.
var (
	Groups               = newTable[Group](6, "UserPermissionGroup", func(g *Group) *uint64 { return &g.ID }, nil)
	GroupsByOrganisation = Groups.index("organisation", func(g *Group, k Key) (Key, bool) { return k.Uint(g.Organisation), true })
)

// GroupMember puts a user in a group.
type GroupMember struct {
	ID         uint64 `cbor:"1,keyasint"`
	Group      uint64 `cbor:"2,keyasint"`
	User       uint64 `cbor:"3,keyasint"`
	GroupAdmin bool   `cbor:"4,keyasint,omitempty"`
}

// GroupMembers is the table of group members.
var (
	GroupMembers        = newTable[GroupMember](7, "UserPermissionGroupMembership", func(m *GroupMember) *uint64 { return &m.ID }, nil)
	GroupMembersByGroup = GroupMembers.index("group", func(m *GroupMember, k Key) (Key, bool) { return k.Uint(m.Group).Uint(m.User), true })
	GroupMembersByUser  = GroupMembers.index("user", func(m *GroupMember, k Key) (Key, bool) { return k.Uint(m.User).Uint(m.Group), true })
)

// Permission gives a user or a group rights on one organisation, project or
// environment. Exactly one of User and Group is set.
type Permission struct {
	ID          uint64   `cbor:"1,keyasint"`
	Level       Level    `cbor:"2,keyasint"`
	Object      uint64   `cbor:"3,keyasint"` // id of the organisation, project or environment
	User        uint64   `cbor:"4,keyasint,omitempty"`
	Group       uint64   `cbor:"5,keyasint,omitempty"`
	Admin       bool     `cbor:"6,keyasint,omitempty"`
	Permissions []string `cbor:"7,keyasint,omitempty"` // keys of the level's catalogue
}

// Permissions is the table of permission rows.
var (
	Permissions         = newTable[Permission](8, "Permission", func(p *Permission) *uint64 { return &p.ID }, nil)
	PermissionsByObject = Permissions.index("object", func(p *Permission, k Key) (Key, bool) { return k.Byte(byte(p.Level)).Uint(p.Object), true })
	PermissionsByUser   = Permissions.index("user", func(p *Permission, k Key) (Key, bool) {
		return k.Uint(p.User).Byte(byte(p.Level)).Uint(p.Object), p.User != 0
	})
	PermissionsByGroup = Permissions.index("group", func(p *Permission, k Key) (Key, bool) {
		return k.Uint(p.Group).Byte(byte(p.Level)).Uint(p.Object), p.Group != 0
	})
)
