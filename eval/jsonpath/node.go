// Package jsonpath is RFC 9535 over ordered JSON trees, for untrusted queries:
// parsing is bounded in length and depth, and a query that visits too much
// finds nothing.
//
// A node is nil, bool, string, Number, []any or *Object.
package jsonpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Number is a JSON number as it was written.
type Number string

// Object is a JSON object whose members keep their order.
type Object struct {
	names  []string
	values []any
	index  map[string]int
}

// NewObject is an empty object with room for size members.
func NewObject(size int) *Object {
	return &Object{names: make([]string, 0, size), values: make([]any, 0, size), index: make(map[string]int, size)}
}

// Set adds a member, or replaces its value at the place it has.
func (o *Object) Set(name string, value any) {
	if i, ok := o.index[name]; ok {
		o.values[i] = value
		return
	}
	o.index[name] = len(o.names)
	o.names = append(o.names, name)
	o.values = append(o.values, value)
}

// Get is the value of a member.
func (o *Object) Get(name string) (any, bool) {
	i, ok := o.index[name]
	if !ok {
		return nil, false
	}
	return o.values[i], true
}

// Names lists the members in order; read-only.
func (o *Object) Names() []string { return o.names }

// maxDepth bounds the nesting Decode accepts.
const maxDepth = 500

var errDepth = errors.New("nested too deeply")

// Decode reads one JSON text into a tree. Of members with one name the last
// counts, at the place of the first.
func Decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	node, err := decodeNode(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return node, nil
}

func decodeNode(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	token, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Number:
		return Number(t), nil
	case json.Delim:
		if t == '[' {
			return decodeList(d, depth)
		}
		return decodeObject(d, depth)
	}
	return token, nil // nil, bool or string
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		node, err := decodeNode(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, node)
	}
	_, err := d.Token()
	return list, err
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	object := NewObject(0)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("decode JSON: %w", err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("decode JSON: member name expected")
		}
		node, err := decodeNode(d, depth+1)
		if err != nil {
			return nil, err
		}
		object.Set(name, node)
	}
	_, err := d.Token()
	return object, err
}
