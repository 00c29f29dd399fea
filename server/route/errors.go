package route

import (
	"errors"
	"fmt"
	"strconv"
)

// Every error shape of Flagsmith's API is made in this file. Handlers return these; anything else becomes a 500 without details.
//
//	{"detail": "..."}                       Detail and its relatives
//	{"field": ["msg"], ...}                 Errors, from the decoder and from handlers
//	{"non_field_errors": ["msg"]}           NonField
//	["msg"]                                 BareArray
//	nested lists, index-aligned             Errors.At, Errors.Item

// The stock texts of Django REST framework (FACTS §1).
const (
	MsgRequired  = "This field is required."
	MsgBlank     = "This field may not be blank."
	MsgNull      = "This field may not be null."
	MsgString    = "Not a valid string."
	MsgInteger   = "A valid integer is required."
	MsgNumber    = "A valid number is required."
	MsgBoolean   = "Must be a valid boolean."
	MsgNulChar   = "Null characters are not allowed."
	MsgEmail     = "Enter a valid email address."
	MsgURL       = "Enter a valid URL."
	MsgUUID      = "Must be a valid UUID."
	MsgSlug      = `Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.`
	MsgDateRange = "Datetime value out of range."
	MsgDateTime  = "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."
	MsgEmptyList = "This list may not be empty."
	MsgNoUpload  = "No file was submitted."
	MsgNoFile    = "The submitted data was not a file. Check the encoding type on the form."

	MsgNotFound         = "Not found."
	MsgInvalidPage      = "Invalid page."
	MsgNoCredentials    = "Authentication credentials were not provided."
	MsgPermissionDenied = "You do not have permission to perform this action."
)

// What every API says of reads that this node cannot serve as they ask.
const (
	MsgNoState  = "This node has no state yet."
	MsgBehind   = "This node has not reached the requested index in time."
	MsgNoLeader = "No leader confirms a linearizable read."
	MsgBadLevel = "Flagraft-Consistency must be local, min-index or linearizable."
)

// Error is an answer that is not a success.
type Error struct {
	Status  int
	Headers []Header
	// Body is encoded as JSON: a map, a slice, an *Errors, or nil for no body.
	Body any
}

// Error gives the status and body for logs.
func (e *Error) Error() string {
	return strconv.Itoa(e.Status) + " " + string(AppendJSON(nil, e.Body))
}

// With adds a header to the error.
func (e *Error) With(name, value string) *Error {
	e.Headers = append(e.Headers, Header{name, value})
	return e
}

type detail struct {
	Detail string `json:"detail"`
}

// Detail is {"detail": msg}.
func Detail(status int, msg string) *Error { return &Error{Status: status, Body: detail{msg}} }

// Body is an error with a body of its own shape.
func Body(status int, body any) *Error { return &Error{Status: status, Body: body} }

// BadRequest is 400 with a detail.
func BadRequest(msg string) *Error { return Detail(400, msg) }

// NotFound is 404 "No X matches the given query." with X the model's name in the reference.
func NotFound(model string) *Error {
	return Detail(404, "No "+model+" matches the given query.")
}

// NotFoundDetail is 404 "Not found.": unknown paths and ids that are no ids.
func NotFoundDetail() *Error { return Detail(404, MsgNotFound) }

// Unauthenticated is 401 with the challenge the reference sends.
func Unauthenticated(msg string) *Error {
	return Detail(401, msg).With("WWW-Authenticate", `Cookie realm="api"`)
}

// PermissionDenied is the stock 403.
func PermissionDenied() *Error { return Detail(403, MsgPermissionDenied) }

// Forbidden is 403 with another text.
func Forbidden(msg string) *Error { return Detail(403, msg) }

// MethodNotAllowed is 405; allow is the Allow header.
func MethodNotAllowed(method, allow string) *Error {
	return Detail(405, fmt.Sprintf("Method \"%s\" not allowed.", method)).With("Allow", allow)
}

// UnsupportedMedia is 415.
func UnsupportedMedia(contentType string) *Error {
	return Detail(415, fmt.Sprintf("Unsupported media type \"%s\" in request.", contentType))
}

// TooLarge is 413; limit is in bytes.
func TooLarge(limit int) *Error {
	return Detail(413, fmt.Sprintf("Request body is too large: at most %d bytes are accepted.", limit))
}

// Conflict is 409 with a detail.
func Conflict(msg string) *Error { return Detail(409, msg) }

// Throttled is 429; seconds is how long to wait.
func Throttled(seconds int) *Error {
	plural := "s"
	if seconds == 1 {
		plural = ""
	}
	return Detail(429, fmt.Sprintf("Request was throttled. Expected available in %d second%s.", seconds, plural)).
		With("Retry-After", strconv.Itoa(seconds))
}

// Unavailable is 503; seconds is the Retry-After.
func Unavailable(msg string, seconds int) *Error {
	return Detail(503, msg).With("Retry-After", strconv.Itoa(seconds))
}

// ReadOnly is the answer to a write while the cluster has too little disk space.
func ReadOnly() *Error {
	return Detail(507, "The cluster is read-only: too little disk space is left. Nothing was written. Reads go on, and writes work again as soon as space is freed.").
		With("Retry-After", "10")
}

// Internal is the answer to a fault of ours: no details leave the server.
func Internal() *Error { return Detail(500, "Internal server error.") }

// Field is a 400 with one message at one field.
func Field(name string, msgs ...string) *Error {
	e := &Errors{}
	e.Add(name, msgs...)
	return &Error{Status: 400, Body: e}
}

// FieldText is a 400 whose field holds a string instead of a list: the reference does so in a few places.
func FieldText(name, msg string) *Error {
	return &Error{Status: 400, Body: map[string]string{name: msg}}
}

// NonField is a 400 about the object as a whole.
func NonField(msgs ...string) *Error { return Field(NonFieldErrors, msgs...) }

// NonFieldErrors is the member that carries object-level messages.
const NonFieldErrors = "non_field_errors"

// BareArray is a 400 whose body is only the list of messages.
func BareArray(msgs ...string) *Error { return &Error{Status: 400, Body: msgs} }

// InvalidPK is a 400 at a field that refers to something which does not exist.
func InvalidPK(field string, id any) *Error { return Field(field, InvalidPKText(id)) }

// InvalidPKText is the message of InvalidPK.
func InvalidPKText(id any) string {
	return fmt.Sprintf("Invalid pk \"%v\" - object does not exist.", id)
}

// InvalidChoiceText is the message for a value outside its choices.
func InvalidChoiceText(v string) string { return `"` + v + `" is not a valid choice.` }

// MaxLengthText is the message for a text that is too long.
func MaxLengthText(n int) string {
	return "Ensure this field has no more than " + strconv.Itoa(n) + " characters."
}

// expectedDict is the message for a value that should be an object.
func expectedDict(got string) string {
	return "Invalid data. Expected a dictionary, but got " + got + "."
}

// expectedList is the message for a value that should be a list.
func expectedList(got string) string {
	return "Expected a list of items but got type \"" + got + "\"."
}

// ErrorResponse makes the answer to an error. Wrapped *Error and *Errors are found; everything else is a 500.
func ErrorResponse(err error) Response {
	e := AsError(err)
	r := Response{Status: e.Status, Headers: append([]Header(nil), e.Headers...)}
	if e.Body != nil {
		r.Headers = append(r.Headers, Header{"Content-Type", "application/json"})
		r.Body = AppendJSON(nil, e.Body)
	}
	return r
}

// AsError finds the answer in an error.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var fields *Errors
	if errors.As(err, &fields) {
		return &Error{Status: 400, Body: fields}
	}
	return Internal()
}

// Errors collects validation messages by field, in the order of the fields, nested like the input. The zero value is ready.
type Errors struct {
	msgs  []string  // a leaf
	names []string  // an object: names[i] holds kids[i]
	kids  []*Errors // or, without names, a list aligned with the input
}

// Add appends messages to a field.
func (e *Errors) Add(field string, msgs ...string) {
	k := e.At(field)
	k.msgs = append(k.msgs, msgs...)
}

// NonField appends messages about the object as a whole.
func (e *Errors) NonField(msgs ...string) { e.Add(NonFieldErrors, msgs...) }

// At gives the messages of one field, for nested objects and lists.
func (e *Errors) At(field string) *Errors {
	for i, n := range e.names {
		if n == field {
			return e.kids[i]
		}
	}
	k := &Errors{}
	e.names = append(e.names, field)
	e.kids = append(e.kids, k)
	return k
}

// Item gives the messages of list element i; the elements before it appear as {}.
func (e *Errors) Item(i int) *Errors {
	for len(e.kids) <= i {
		e.kids = append(e.kids, &Errors{})
	}
	return e.kids[i]
}

// Empty reports whether there is no message at any depth.
func (e *Errors) Empty() bool {
	if len(e.msgs) > 0 {
		return false
	}
	for _, k := range e.kids {
		if !k.Empty() {
			return false
		}
	}
	return true
}

// Err is e as an error, or nil when it is empty.
func (e *Errors) Err() error {
	if e.Empty() {
		return nil
	}
	return e
}

// Error gives the messages as JSON.
func (e *Errors) Error() string { return string(e.AppendJSON(nil)) }

// AppendJSON writes the messages in Flagsmith's shape.
func (e *Errors) AppendJSON(dst []byte) []byte {
	switch {
	case len(e.msgs) > 0:
		return AppendJSON(dst, e.msgs)
	case len(e.names) > 0:
		return e.appendObject(dst)
	case len(e.kids) > 0:
		dst = append(dst, '[')
		for i, k := range e.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.AppendJSON(dst)
		}
		return append(dst, ']')
	}
	return append(dst, '{', '}')
}

func (e *Errors) appendObject(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for i, n := range e.names {
		if e.kids[i].Empty() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendString(dst, n)
		dst = append(dst, ':')
		dst = e.kids[i].AppendJSON(dst)
	}
	return append(dst, '}')
}
