package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is one way in which the served description does not do for the recorded one.
type Difference struct {
	Operation string // operationId of the recorded operation
	Where     string // "path", "query page", "request tags", "response 200 results.[].id", …
	What      string
}

func (d Difference) String() string { return d.Operation + "\t" + d.Where + "\t" + d.What }

// Compare lists the differences, by recorded operation, and tells how many there are of those.
func Compare(recorded, served *Document) (all []Difference, operations int) {
	ours := map[string]operation{}
	for _, o := range served.operations() {
		ours[o.id()] = o
	}
	for _, want := range recorded.operations() {
		operations++
		c := comparison{recorded: recorded, served: served, id: want.id()}
		have, ok := ours[want.id()]
		switch {
		case !ok:
			c.differ("operation", "missing")
		case have.path != want.path || have.method != want.method:
			c.differ("path", "%s %s instead of %s %s", have.method, have.path, want.method, want.path)
		default:
			c.parameters(want.node, have.node)
			c.request(want.node, have.node)
			c.response(want.node, have.node)
		}
		all = append(all, c.differences...)
	}
	return all, operations
}

type comparison struct {
	recorded, served *Document
	id               string
	differences      []Difference
}

func (c *comparison) differ(where, format string, args ...any) {
	c.differences = append(c.differences, Difference{c.id, where, fmt.Sprintf(format, args...)})
}

// parameters: each recorded one is taken, with its type, and no other is demanded.
func (c *comparison) parameters(want, have node) {
	ours := map[string]node{}
	key := func(p node) string { return fmt.Sprint(p["in"], " ", p["name"]) }
	for _, v := range list(have["parameters"]) {
		p := c.served.resolve(v)
		ours[key(p)] = p
	}
	for _, v := range list(want["parameters"]) {
		p := c.recorded.resolve(v)
		o, ok := ours[key(p)]
		if !ok {
			c.differ(key(p), "missing")
			continue
		}
		// A path is text: what is recorded as a string there may be a number of ours.
		if p["in"] != "path" || slices.Contains(c.recorded.schema(p["schema"]).types, "integer") {
			c.value(key(p), p["schema"], o["schema"], c.recorded, c.served)
		}
		if o["required"] == true && p["required"] != true {
			c.differ(key(p), "required")
		}
		delete(ours, key(p))
	}
	for _, k := range slices.Sorted(maps.Keys(ours)) {
		if ours[k]["required"] == true {
			c.differ(k, "required, but not recorded")
		}
	}
}

// request: each recorded member is taken, with its types, and no other is demanded.
func (c *comparison) request(want, have node) {
	w, recorded := c.recorded.body(want["requestBody"])
	h, ok := c.served.body(have["requestBody"])
	switch {
	case !recorded && !ok:
	case !ok:
		c.differ("request", "missing")
	case !recorded:
		if required := c.served.schema(h).required; len(required) > 0 {
			c.differ("request", "%v required, but none is recorded", required)
		}
	default:
		// What comes in is looked at the other way round: whatever the recorded one takes, ours takes.
		c.demand("request", w, h)
		c.members("request", w, h, 0, true)
	}
}

// demand: nothing is required that is not recorded at all.
func (c *comparison) demand(where string, want, have any) {
	w, h := c.recorded.schema(want), c.served.schema(have)
	for _, name := range h.required {
		if _, ok := w.properties[name]; !ok {
			c.differ(where+" "+name, "required, but not recorded")
		}
	}
}

// response: the recorded status of success is ours, and each recorded member is answered, with no other types.
func (c *comparison) response(want, have node) {
	theirs, ours := success(want), success(have)
	if len(theirs) == 0 {
		return
	}
	for _, status := range ours {
		if !slices.Contains(theirs, status) {
			c.differ("response", "%s instead of %s", status, strings.Join(theirs, " or "))
			return
		}
	}
	for _, status := range ours {
		w, recorded := c.recorded.body(c.recorded.resolve(want["responses"])[status])
		h, ok := c.served.body(c.served.resolve(have["responses"])[status])
		switch where := "response " + status; {
		case !recorded:
		case !ok:
			c.differ(where, "without a body")
		default:
			if c.value(where, w, h, c.recorded, c.served) {
				c.members(where, w, h, 0, false)
			}
		}
	}
}

func success(op node) (codes []string) {
	all, _ := op["responses"].(node)
	for _, code := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(code, "2") {
			codes = append(codes, code)
		}
	}
	return codes
}

// body is the JSON schema of a request body or a response.
func (d *Document) body(v any) (any, bool) {
	content, _ := d.resolve(v)["content"].(node)
	media, ok := content["application/json"].(node)
	return media["schema"], ok
}

// deepest bounds how far down schemas are compared; rules of segments nest without end.
const deepest = 6

// members compares the members of objects and the items of lists.
func (c *comparison) members(where string, want, have any, depth int, in bool) {
	w, h := c.recorded.schema(want), c.served.schema(have)
	if depth > deepest || len(h.types) == 0 && h.properties == nil {
		return // ours takes or answers anything
	}
	if w.items != nil && h.items != nil {
		c.both(where+" []", w.items, h.items, depth, in)
	}
	for _, name := range slices.Sorted(maps.Keys(w.properties)) {
		p, known := h.properties[name]
		at := where + " " + name
		switch {
		case in && c.recorded.schema(w.properties[name]).readOnly, !in && c.recorded.schema(w.properties[name]).writeOnly:
		case !known:
			c.differ(at, "missing")
		default:
			c.both(at, w.properties[name], p, depth, in)
		}
	}
}

func (c *comparison) both(where string, want, have any, depth int, in bool) {
	fits := false
	if in {
		fits = c.value(where, have, want, c.served, c.recorded)
	} else {
		fits = c.value(where, want, have, c.recorded, c.served)
	}
	if fits {
		c.members(where, want, have, depth+1, in)
	}
}

// value: whatever fits inner fits outer, as far as types go.
func (c *comparison) value(where string, outer, inner any, outerOf, innerOf *Document) bool {
	o, i := outerOf.schema(outer), innerOf.schema(inner)
	if len(o.types) == 0 {
		return true
	}
	if len(i.types) == 0 {
		if outerOf == c.recorded {
			return true // untyped answers are of many types; the recordings judge them
		}
		c.differ(where, "takes %v, not anything", o.types)
		return false
	}
	for _, t := range i.types {
		if !slices.Contains(o.types, t) && (t != "integer" || !slices.Contains(o.types, "number")) {
			c.differ(where, "%v does not fit %v", i.types, o.types)
			return false
		}
	}
	return true
}
