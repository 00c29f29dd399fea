package fsm

import (
	"fmt"

	"github.com/hashicorp/go-memdb"
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
	g.all = append(g.all, def)
}

// newDatabase makes an empty database with every registered table. It is a snapshot of one
// because nobody watches rows: what a transaction changes is not noted for watchers.
func newDatabase() *memdb.MemDB {
	schema := &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{}}
	for _, def := range registry.all {
		t := &memdb.TableSchema{Name: def.name, Indexes: map[string]*memdb.IndexSchema{}}
		for _, x := range def.indexes {
			t.Indexes[x.Name] = x
		}
		schema.Tables[def.name] = t
	}
	return must(memdb.NewMemDB(schema)).Snapshot()
}

func (d *tableDef) hasIndex(name string) bool {
	for _, x := range d.indexes {
		if x.Name == name {
			return true
		}
	}
	return false
}
