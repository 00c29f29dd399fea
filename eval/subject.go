package eval

import (
	"slices"

	"github.com/flagraft/flagraft/eval/jsonpath"
)

// Subject is who an Environment is evaluated for: at most one identity with
// its traits. It is reusable scratch for one goroutine at a time: Reset, then
// SetIdentity, then the traits, then Environment.Evaluate as often as needed.
//
// Texts given to a Subject (trait names too, where a segment's JSONPath looks
// at all traits) are kept, not copied, until the next Reset.
type Subject struct {
	env         *Environment
	values      []Value // coerced, by the environment's trait slot; null means absent
	texts       []int32 // by slot, the number of the value's text; 0 for none, or notText
	hasIdentity bool
	identifier  string
	key         string // hashing key; never empty with an identity
	composedKey []byte
	// Coerced forms for JSONPath properties.
	identifierValue, keyValue Value
	// traits holds every trait as it was given, only when the environment has
	// a JSONPath that needs them.
	traits []Trait
	// document is what JSONPath queries run on, built when first needed.
	document     any
	hasDocument  bool
	makeDocument func(*Subject) any
	pathWork     int // what the JSONPath queries of one evaluation may still do
}

// Reset prepares the subject for one evaluation in env, without an identity.
func (s *Subject) Reset(env *Environment) {
	s.env = env
	s.values = cleared(s.values, len(env.slots))
	s.texts = cleared(s.texts, len(env.slots))
	s.hasIdentity = false
	s.identifier, s.key = "", ""
	s.identifierValue, s.keyValue = Value{}, Value{}
	clear(s.traits)
	s.traits = s.traits[:0]
	s.document, s.hasDocument, s.makeDocument = nil, false, nil
}

func cleared[T any](slice []T, size int) []T {
	if cap(slice) < size {
		return make([]T, size, size+size/4+8)
	}
	slice = slice[:size]
	clear(slice)
	return slice
}

// SetIdentity gives the subject an identity. key is its hashing key; "" means
// "<environment key>_<identifier>".
func (s *Subject) SetIdentity(identifier, key string) {
	if key == "" {
		s.composedKey = append(s.composedKey[:0], s.env.key...)
		s.composedKey = append(s.composedKey, '_')
		s.composedKey = append(s.composedKey, identifier...)
		key = alias(s.composedKey)
	}
	s.hasIdentity = true
	s.identifier, s.key = identifier, key
	if s.env.readsIdentity {
		s.identifierValue, s.keyValue = coerce(String(identifier)), coerce(String(key))
	}
}

// IdentityKey is the hashing key, "" without an identity. It is valid until
// the next Reset or SetIdentity.
func (s *Subject) IdentityKey() string { return s.key }

// NoSlot is the slot of a trait that no condition asks for.
const NoSlot = -1

// TraitSlot is the number under which subjects keep the trait of a name, or
// [NoSlot]. It holds for this Environment alone.
func (e *Environment) TraitSlot(name string) int32 {
	if slot, ok := e.slots[name]; ok {
		return slot
	}
	return NoSlot
}

// SetTrait sets one trait; a later one of the same name wins. Null removes it.
func (s *Subject) SetTrait(name string, v Value) {
	s.SetTraitAt(s.env.TraitSlot(name), name, v)
}

// SetTraitAt is SetTrait for who knows the name's slot.
func (s *Subject) SetTraitAt(slot int32, name string, v Value) {
	if slot != NoSlot {
		s.setSlot(slot, v)
	}
	if s.env.readsDocument {
		s.keepTrait(name, v)
	}
}

// notText is the text number of a value that is not a string.
const notText = -1

func (s *Subject) setSlot(slot int32, v Value) {
	v = coerce(v)
	s.values[slot] = v
	switch v.kind {
	case KindNull:
		s.texts[slot] = 0
	case KindString:
		s.texts[slot] = s.env.textNumber(slot, v.text)
	default:
		s.texts[slot] = notText
	}
}

// RemoveTrait removes a trait.
func (s *Subject) RemoveTrait(name string) {
	if slot, ok := s.env.slots[name]; ok {
		s.setSlot(slot, Value{})
	}
	s.traits = slices.DeleteFunc(s.traits, func(t Trait) bool { return t.Name == name })
	s.hasDocument = false
}

func (s *Subject) keepTrait(name string, v Value) {
	s.hasDocument = false
	s.traits = append(s.traits, Trait{name, v}) // the document keeps the last of a name
}

// query is the first node of a JSONPath over the context; null unless scalar.
func (s *Subject) query(q *jsonpath.Query) Value {
	if !s.hasDocument {
		if s.makeDocument != nil {
			s.document = s.makeDocument(s)
		} else {
			s.document = s.buildDocument()
		}
		s.hasDocument = true
	}
	node, ok := q.First(s.document, &s.pathWork)
	if !ok {
		return Value{}
	}
	v, scalar := nodeValue(node)
	if !scalar {
		return Value{}
	}
	return coerce(v)
}

// buildDocument is the part of the context the server's segments may look at:
// the environment and the identity.
func (s *Subject) buildDocument() any {
	environment := jsonpath.NewObject(2)
	environment.Set("key", s.env.key)
	environment.Set("name", s.env.name)
	root := jsonpath.NewObject(2)
	root.Set("environment", environment)
	if s.hasIdentity {
		root.Set("identity", s.identityNode())
	}
	return root
}

func (s *Subject) identityNode() *jsonpath.Object {
	traits := jsonpath.NewObject(len(s.traits))
	for _, t := range s.traits {
		traits.Set(t.Name, valueNode(t.Value))
	}
	identity := jsonpath.NewObject(3)
	identity.Set("identifier", s.identifier)
	identity.Set("key", s.key)
	identity.Set("traits", traits)
	return identity
}

// valueNode is v as a JSONPath node.
func valueNode(v Value) any {
	switch v.kind {
	case KindBool:
		return v.bits == 1
	case KindInt, KindFloat:
		return jsonpath.Number(v.AppendJSON(nil))
	case KindString:
		return v.text
	}
	return nil
}

// nodeValue is a JSONPath node as a Value; false for lists and objects.
func nodeValue(node any) (Value, bool) {
	switch n := node.(type) {
	case nil:
		return Value{}, true
	case bool:
		return Bool(n), true
	case string:
		return String(n), true
	case jsonpath.Number:
		v, err := ParseLiteral([]byte(n))
		return v, err == nil
	}
	return Value{}, false
}
