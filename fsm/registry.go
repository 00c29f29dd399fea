package fsm

import (
	"fmt"
	"slices"
)

// registry lists the tables of the state. The package's table variables fill it
// during initialisation; nothing changes it afterwards.
var registry tableRegistry

type tableRegistry struct {
	byNumber [256]*tableDef
	byName   map[string]*tableDef
	all      []*tableDef
}

func (g *tableRegistry) add(def *tableDef) {
	if g.byNumber[def.number] != nil || g.byName[def.name] != nil {
		panic(fmt.Sprintf("fsm: table %d %s is declared twice", def.number, def.name))
	}
	if g.byName == nil {
		g.byName = map[string]*tableDef{}
	}
	g.byNumber[def.number], g.byName[def.name] = def, def
	def.place = len(g.all)
	g.all = append(g.all, def)
}

// index is the place of the index of that name.
func (d *tableDef) index(name string) (at int, ok bool) {
	at = slices.IndexFunc(d.indexes, func(x indexDef) bool { return x.name == name })
	return at, at >= 0
}
