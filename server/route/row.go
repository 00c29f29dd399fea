package route

import (
	"reflect"

	"github.com/valyala/fasthttp"
)

// Kind says how a request relates to the replicated state. The method does not tell: GET /identities/ creates an identity.
type Kind uint8

// The kinds of rows.
const (
	// Read answers from applied state, at the consistency the caller asks for.
	Read Kind = iota
	// Write runs as one transaction on the leader; the whole request is sent there.
	Write
	// Identity evaluates on this node and sends what must be stored to the leader itself.
	Identity
	// Local concerns this node only: health, documentation, version.
	Local
	// Operation acts on the cluster itself and not on the state. The caller is judged by state that reflects every acknowledged write.
	Operation
)

// String names the kind as the API description and the metrics do.
func (k Kind) String() string {
	return [...]string{"read", "write", "identity", "local", "operation"}[k]
}

// Auth is who may call a row at all; Permission then looks at what they may touch.
type Auth uint8

// The authentication scopes.
const (
	// None asks for no credentials.
	None Auth = iota
	// EnvironmentKey takes X-Environment-Key, client or server side.
	EnvironmentKey
	// ServerKey takes X-Environment-Key with a server-side key ("ser.").
	ServerKey
	// Admin takes an account token or an organisation key (Authorization: Token, or Api-Key).
	Admin
	// User takes an account token only.
	User
	// Superuser takes the account token of an installation administrator.
	Superuser
	// Optional reads account credentials when they are sent and lets everybody in.
	OptionalUser
)

// String names the scope.
func (a Auth) String() string {
	return [...]string{"none", "environment-key", "server-key", "admin", "user", "superuser", "optional-user"}[a]
}

// Permission is what a row demands beyond authentication. Check runs before the input is validated, inside the transaction of a write,
// and returns the refusal (usually a *Error of status 403 or 404), or nil.
type Permission interface {
	// Name is the text shown in the API description, "environment UPDATE_FEATURE_STATE".
	Name() string
	Check(*Call) error
}

// Row is one endpoint.
type Row struct {
	Method      string // GET, POST, PUT, PATCH, DELETE
	Path        string // "/api/v1/projects/{project_pk}/tags/"; served with and without the trailing slash
	OperationID string // unique; the reference's where it has the operation
	Tag         string // groups operations in the documentation
	Summary     string
	Description string

	Kind       Kind
	Auth       Auth
	Permission Permission // nil: authentication is enough
	Status     int        // of success; 0 is 200
	Level      uint8      // format level that the cluster must have reached; 0: any
	Handler    Handler
	Refusals   []int  // statuses of refusals besides those that input, Auth, Permission and Kind tell, or of another shape than theirs
	Bare       []int  // statuses of refusals that may have no body
	Media      string // content type of an Output that is a Blob; "": application/octet-stream
	Deprecated bool
	Hidden     bool // left out of the API description
	NoHead     bool // Allow does not name HEAD: the reference's views for GET alone, those by uuid and of usage, are so
	OwnHead    bool // a RawHandler that begins every answer itself, with the headers that all answers have
	Hot        bool // a RawHandler whose requests connections may answer themselves (see package server): it leaves the request as it came
	// Expect, of a Hot row: a connection that keeps the head of a request calls it once, and what it returns with the body of each request with that head,
	// before anything else is done for it. It can have memory read that will be needed, and leaves all as it is. nil, and returning nil: there is nothing to do.
	Expect func(ctx *fasthttp.RequestCtx) func(body []byte)

	schema     *Schema
	encoder    *Encoder
	paramNames []string
}

// SuccessStatus is Status, or 200.
func (r *Row) SuccessStatus() int {
	if r.Status == 0 {
		return 200
	}
	return r.Status
}

// Label is the row's name in metrics and logs: its OperationID.
func (r *Row) Label() string { return r.OperationID }

// Schema is the compiled input of the row; nil before NewTable and for raw rows.
func (r *Row) Schema() *Schema { return r.schema }

// Encoder is the compiled output of the row; nil before NewTable and for raw rows.
func (r *Row) Encoder() *Encoder { return r.encoder }

// Handler is the part every handler has: the types that the API description shows. Input or Output may be nil (nothing to describe).
// A handler is a Typed or a RawHandler too.
type Handler interface {
	Input() reflect.Type
	Output() reflect.Type
}

// Typed handlers get a decoded input (a pointer to the Input type) and return the output value.
type Typed interface {
	Handler
	Serve(c *Call, in any) (any, error)
}

// Preparer is a Typed handler with slow work to do before its transaction (hashing a password, resolving a name). Prepare may change in.
type Preparer interface {
	Prepare(c *Call, in any) error
}

// RawHandler handlers work on the connection's own buffers and write the answer themselves. Nothing of ctx or m may outlive the call.
type RawHandler interface {
	Handler
	ServeRaw(ctx *fasthttp.RequestCtx, m *Match)
}

// Pieces is a body stream that lies in memory: three slices, one after the other, until it is closed.
type Pieces interface {
	Pieces() (first, second, third []byte)
}

// Empty is the output of operations that answer without a body.
type Empty struct{}

// Func makes a typed handler of a plain function.
func Func[In, Out any](f func(*Call, In) (Out, error)) Typed { return typedFunc[In, Out](f) }

type typedFunc[In, Out any] func(*Call, In) (Out, error)

func (typedFunc[In, Out]) Input() reflect.Type  { return reflect.TypeFor[In]() }
func (typedFunc[In, Out]) Output() reflect.Type { return reflect.TypeFor[Out]() }
func (f typedFunc[In, Out]) Serve(c *Call, in any) (any, error) {
	return f(c, *in.(*In))
}

// Raw makes a raw handler; in and out are values of the types shown in the API description, or nil.
func Raw(f func(ctx *fasthttp.RequestCtx, m *Match), in, out any) RawHandler {
	return rawFunc{f, reflect.TypeOf(in), reflect.TypeOf(out)}
}

type rawFunc struct {
	serve   func(ctx *fasthttp.RequestCtx, m *Match)
	in, out reflect.Type
}

func (r rawFunc) Input() reflect.Type                         { return r.in }
func (r rawFunc) Output() reflect.Type                        { return r.out }
func (r rawFunc) ServeRaw(ctx *fasthttp.RequestCtx, m *Match) { r.serve(ctx, m) }
