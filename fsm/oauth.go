package fsm

// OAuthClient is a program that registered itself to ask for tokens. Clients
// have no secret: they prove themselves with PKCE.
type OAuthClient struct {
	ID           uint64   `cbor:"1,keyasint"`
	ClientID     string   `cbor:"2,keyasint"` // public
	Name         string   `cbor:"3,keyasint"`
	RedirectURIs []string `cbor:"4,keyasint"`
	Created      Time     `cbor:"5,keyasint"`
}

// OAuthClients is the table of registered programs.
var (
	OAuthClients           = newTable[OAuthClient](37, "OAuthApplication", func(c *OAuthClient) *uint64 { return &c.ID }, nil).since(3)
	OAuthClientsByClientID = OAuthClients.index("client_id", func(c *OAuthClient, k Key) (Key, bool) { return k.String(c.ClientID), true })
)

// OAuthGrant is a user's consent: a code that the client may turn into tokens
// once. Only the SHA-256 of the code is kept.
type OAuthGrant struct {
	ID          uint64   `cbor:"1,keyasint"`
	Hash        [32]byte `cbor:"2,keyasint"`
	Client      string   `cbor:"3,keyasint"` // client id
	User        uint64   `cbor:"4,keyasint"`
	RedirectURI string   `cbor:"5,keyasint"`
	Scope       string   `cbor:"6,keyasint"`
	Challenge   string   `cbor:"7,keyasint"` // PKCE, S256
	Expires     Time     `cbor:"8,keyasint"`
	Used        bool     `cbor:"9,keyasint,omitempty"`
}

// OAuthGrants is the table of consents, kept until their codes expire, or the tokens that came of them.
var (
	OAuthGrants         = newTable[OAuthGrant](38, "OAuthGrant", func(g *OAuthGrant) *uint64 { return &g.ID }, nil).since(3)
	OAuthGrantsByHash   = OAuthGrants.index("hash", func(g *OAuthGrant, k Key) (Key, bool) { return k.Bytes(g.Hash[:]), true })
	OAuthGrantsByUser   = OAuthGrants.index("user", func(g *OAuthGrant, k Key) (Key, bool) { return k.Uint(g.User), true })
	OAuthGrantsByExpiry = OAuthGrants.index("expiry", func(g *OAuthGrant, k Key) (Key, bool) { return k.Uint(uint64(g.Expires)), true })
)

// OAuthToken is a pair of tokens that acts for a user. Only their SHA-256 is
// kept.
type OAuthToken struct {
	ID             uint64   `cbor:"1,keyasint"`
	Family         uint64   `cbor:"2,keyasint"` // the grant that it comes from, by refreshing or at first
	Client         string   `cbor:"3,keyasint"` // client id
	User           uint64   `cbor:"4,keyasint"`
	Scope          string   `cbor:"5,keyasint"`
	Access         [32]byte `cbor:"6,keyasint"`
	AccessExpires  Time     `cbor:"7,keyasint"`
	Refresh        [32]byte `cbor:"8,keyasint"`
	RefreshExpires Time     `cbor:"9,keyasint"`
	Rotated        Time     `cbor:"10,keyasint,omitempty"` // when the refresh token was first used
}

// OAuthTokens is the table of tokens, kept until their refresh tokens expire.
var (
	OAuthTokens          = newTable[OAuthToken](39, "OAuthToken", func(t *OAuthToken) *uint64 { return &t.ID }, nil).since(3)
	OAuthTokensByAccess  = OAuthTokens.index("access", func(t *OAuthToken, k Key) (Key, bool) { return k.Bytes(t.Access[:]), true })
	OAuthTokensByRefresh = OAuthTokens.index("refresh", func(t *OAuthToken, k Key) (Key, bool) { return k.Bytes(t.Refresh[:]), true })
	OAuthTokensByFamily  = OAuthTokens.index("family", func(t *OAuthToken, k Key) (Key, bool) { return k.Uint(t.Family), true })
	OAuthTokensByUser    = OAuthTokens.index("user", func(t *OAuthToken, k Key) (Key, bool) { return k.Uint(t.User), true })
	OAuthTokensByExpiry  = OAuthTokens.index("expiry", func(t *OAuthToken, k Key) (Key, bool) { return k.Uint(uint64(t.RefreshExpires)), true })
)
