package fsm

import "strings"

// Invite asks one person, by mail, to join an organisation. Who knows the hash and owns the address may.
type Invite struct {
	ID           uint64   `cbor:"1,keyasint"`
	Organisation uint64   `cbor:"2,keyasint"`
	Hash         string   `cbor:"3,keyasint" secret:"true"` // 22 characters
	Email        string   `cbor:"4,keyasint"`
	Role         Role     `cbor:"5,keyasint"`
	DateCreated  Time     `cbor:"6,keyasint"`
	InvitedBy    uint64   `cbor:"7,keyasint,omitempty"` // user
	Groups       []uint64 `cbor:"8,keyasint,omitempty"` // that the person is put in
}

// Invites is the table of invitations that nobody followed yet.
var (
	Invites               = newTable[Invite](34, "Invite", func(i *Invite) *uint64 { return &i.ID }, nil).since(3)
	InvitesByHash         = Invites.index("hash", func(i *Invite, k Key) (Key, bool) { return k.String(i.Hash), true })
	InvitesByEmail        = Invites.index("email", func(i *Invite, k Key) (Key, bool) { return k.String(strings.ToLower(i.Email)), true })
	InvitesByOrganisation = Invites.index("organisation", func(i *Invite, k Key) (Key, bool) { return k.Uint(i.Organisation), true })
)

// InviteLink lets everybody who knows its hash join an organisation.
type InviteLink struct {
	ID           uint64 `cbor:"1,keyasint"`
	Organisation uint64 `cbor:"2,keyasint"`
	Hash         string `cbor:"3,keyasint" secret:"true"` // 22 characters
	Role         Role   `cbor:"4,keyasint"`
	DateCreated  Time   `cbor:"5,keyasint"`
	ExpiresAt    Time   `cbor:"6,keyasint,omitempty"`
}

// InviteLinks is the table of invite links.
var (
	InviteLinks               = newTable[InviteLink](35, "InviteLink", func(l *InviteLink) *uint64 { return &l.ID }, nil).since(3)
	InviteLinksByHash         = InviteLinks.index("hash", func(l *InviteLink, k Key) (Key, bool) { return k.String(l.Hash), true })
	InviteLinksByOrganisation = InviteLinks.index("organisation", func(l *InviteLink, k Key) (Key, bool) { return k.Uint(l.Organisation), true })
)
