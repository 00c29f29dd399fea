package route

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
)

// responses describes the answers of a row: success first, then what else there may be, by status.
func (g *apiWriter) responses(r *Row) omap {
	answers := omap{}
	for _, a := range r.refusals() {
		answers = answers.put(strconv.Itoa(a.status), ref("responses", a.component))
	}
	slices.SortFunc(answers, func(a, b omember) int { return cmp.Compare(a.name, b.name) })
	return slices.Insert(answers, 0, omember{strconv.Itoa(r.SuccessStatus()), g.success(r)})
}

func (g *apiWriter) success(r *Row) omap {
	ok := omap{{"description", "Success."}}
	switch out := r.Handler.Output(); out {
	case nil, reflect.TypeFor[Empty]():
		return ok
	case reflect.TypeFor[Blob]():
		return ok.with("content", omap{{cmp.Or(r.Media, "application/octet-stream"), omap{{"schema", blobSchema(r.Media)}}}})
	default:
		return ok.with("content", omap{{"application/json", omap{{"schema", g.types.output(out)}}}})
	}
}

// blobSchema describes what a Blob holds; of JSON that is no Go type nothing is known.
func blobSchema(media string) omap {
	switch media {
	case "":
		return omap{{"type", "string"}, {"format", "binary"}}
	case "application/json":
		return omap{}
	}
	return omap{{"type", "string"}}
}

// refusal is an answer that is no success, and the component that describes it.
type refusal struct {
	status    int
	component string
}

// refusals lists what else than success a row may answer; of a status that is there twice the last counts.
func (r *Row) refusals() (all []refusal) {
	add := func(may bool, status int, component string) {
		if may {
			all = append(all, refusal{status, component})
		}
	}
	s := inputSchema(r)
	_, typed := r.Handler.(Typed)
	typed = typed && r.Kind != Local // the server looks at what is asked for, and counts who asks, before it serves such a row
	change := typed && r.Kind == Write
	account := r.Auth == Admin || r.Auth == User || r.Auth == Superuser
	key := r.Auth == EnvironmentKey || r.Auth == ServerKey

	add(typed || s.decode || len(s.query) > 0 || len(r.paramNames) > 0, 400, "ValidationError")
	add(account, 401, "Unauthenticated")
	add(account || key, 403, "Forbidden")
	add(len(r.paramNames) > 0 || len(pageParameters(r.Handler.Output())) > 0, 404, "NotFound")
	add(true, 405, "MethodNotAllowed")
	add(typed, 406, "NotAcceptable")
	add(r.Kind == Operation || r.Level > 0, 409, "Refused") // it may be impossible in this cluster
	add(s.decode || change, 413, "TooLarge")
	add(s.decode, 415, "UnsupportedMediaType")
	add(change, 422, "IdempotencyKeyUsed")
	add(typed && r.Auth != None, 429, "Throttled")
	add(true, 503, "Unavailable")
	add(change || r.Kind == Identity && r.Method != "GET", 507, "ReadOnly")
	for _, status := range r.Refusals {
		add(true, status, cmp.Or(map[int]string{413: "TooLarge", 429: "Throttled", 507: "ReadOnly"}[status], "Refused"))
	}
	for _, status := range r.Bare {
		add(true, status, "RefusedBare")
	}
	return all
}

// errorResponses are the components that refusals name.
func errorResponses() omap {
	detail := omap{{"type", "object"}, {"required", []string{"detail"}}, {"properties", omap{{"detail", omap{{"type", "string"}}}}}}
	messages := omap{{"type", "array"}, {"items", omap{{"type", "string"}}}}
	fields := omap{{"anyOf", []omap{detail, messages, {{"type", "array"}, {"description", "One element for each of the input."}, {"items", omap{{"type", "object"}}}},
		{{"type", "object"}, {"description", "Messages by field; nested objects and lists mirror the input."}, {"additionalProperties", true}}}}}
	answer := func(text string, schema omap, headers ...omember) omap {
		a := omap{{"description", text}}
		if len(headers) > 0 {
			a = a.with("headers", omap(headers))
		}
		return a.with("content", omap{{"application/json", omap{{"schema", schema}}}})
	}
	header := func(name, kind, text string) omember {
		return omember{name, omap{{"description", text}, {"schema", omap{{"type", kind}}}}}
	}
	again := header("Retry-After", "integer", "In how many seconds to try again.")
	return omap{
		{"ValidationError", answer("The input is not valid.", fields)},
		{"Unauthenticated", answer("Credentials are missing or wrong.", detail)},
		{"Forbidden", answer("The caller may not do this.", detail)},
		{"NotFound", answer("There is no such object, or the caller may not see it.", detail)},
		{"MethodNotAllowed", answer("The path does not take the request's method.", detail, header("Allow", "string", "The methods that it takes."))},
		{"NotAcceptable", answer("The Accept header leaves no room for JSON.", detail)},
		{"TooLarge", answer("The body, or the change that it makes, is too large.", detail)},
		{"UnsupportedMediaType", answer("The body's content type is not understood.", detail)},
		{"IdempotencyKeyUsed", answer("The Idempotency-Key header has been used with another request. With the same request it gets the first answer again.", detail)},
		{"Throttled", answer("The caller sends too many requests.", detail, again)},
		{"Refused", answer("The operation is not possible now; the detail says why.", omap{})},
		{"RefusedBare", omap{{"description", "The operation is not possible now. There may be no body."}}},
		{"Unavailable", answer("The node or the cluster cannot answer now.", detail, again)},
		{"ReadOnly", answer("The cluster has too little disk space and takes no changes; nothing was written.", detail, again)},
	}
}
