package compare

import (
	"encoding/json"
	"strconv"

	"github.com/flagraft/flagraft/bench/seed"
)

// Contexts are evaluation contexts that share all but the identity.
type Contexts struct {
	Context    json.RawMessage   `json:"context"` // without an identity
	Identities []json.RawMessage `json:"identities"`
}

type object = map[string]any

// Contexts makes the contexts of an environment and of the first loaded identities of
// a profile, as many as there are kinds of them.
func (d *Document) Contexts(p seed.Profile) (*Contexts, error) {
	features, segments := object{}, object{}
	for _, f := range d.Features {
		features[f.Feature.Name] = f.context()
	}
	for _, s := range d.Project.Segments {
		key := strconv.FormatInt(s.ID, 10)
		overrides := []object{}
		for _, o := range s.Overrides {
			c := o.context()
			c["priority"] = o.priority()
			overrides = append(overrides, c)
		}
		segments[key] = object{"key": key, "name": s.Name, "rules": rules(s.Rules), "overrides": overrides}
	}
	c := &Contexts{}
	var err error
	c.Context, err = json.Marshal(object{"environment": object{"key": d.Key, "name": d.Name}, "features": features, "segments": segments})
	if err != nil {
		return nil, err
	}
	for n := range p.Kinds() {
		traits := object{}
		for _, t := range p.LoadedTraits(n) {
			traits[t.Key] = t.Value
		}
		identifier := seed.Loaded(n)
		identity, err := json.Marshal(object{"identifier": identifier, "key": d.Key + "_" + identifier, "traits": traits})
		if err != nil {
			return nil, err
		}
		c.Identities = append(c.Identities, identity)
	}
	return c, nil
}

func (s *State) context() object {
	return object{"key": strconv.FormatInt(s.Feature.ID, 10), "name": s.Feature.Name, "enabled": s.Enabled, "value": s.Value}
}

func rules(list []Rule) []object {
	out := []object{}
	for _, r := range list {
		conditions := []object{}
		for _, c := range r.Conditions {
			conditions = append(conditions, object{"property": c.Property, "operator": c.Operator, "value": c.Value})
		}
		out = append(out, object{"type": r.Type, "conditions": conditions, "rules": rules(r.Rules)})
	}
	return out
}

// whole are the contexts with their identities.
func (c *Contexts) whole() (out [][]byte) {
	for _, identity := range c.Identities {
		open := append([]byte(`{"identity":`), identity...)
		out = append(out, append(append(open, ','), c.Context[1:]...))
	}
	return out
}
