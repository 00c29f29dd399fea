package faults

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// decideWithin bounds the search for a linearization; a history that needs longer counts as undecided.
const decideWithin = 30 * time.Second

// registerModel is a value that is written and read.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "0" },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(Op)
			if o.Kind == "reg write" {
				return true, o.Value
			}
			return state.(string) == o.Value, state
		},
	}
}

// The states of a presence beside the id of a row.
const (
	absent  = ""
	someone = "?" // there, by a creation whose answer was lost
)

// presenceModel is a row that is created unless its name is taken, deleted by id, and looked for.
func presenceModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return absent },
		Step: func(state, input, _ any) (bool, any) {
			o, s := input.(Op), state.(string)
			switch {
			case o.Kind == "has create" && o.Result == Unknown:
				if s == absent {
					return true, someone
				}
				return true, s
			case o.Kind == "has create" && o.Value == "": // refused: taken
				return s != absent, s
			case o.Kind == "has create":
				return s == absent, o.Value
			case o.Kind == "has delete" && o.Result == Unknown:
				if s == o.Value || s == someone {
					return true, absent
				}
				return true, s
			case o.Kind == "has delete" && o.Status == 404:
				return s != o.Value, s
			case o.Kind == "has delete":
				return s == o.Value || s == someone, absent
			case s == someone && o.Value != absent: // a read finds out who it is
				return true, o.Value
			}
			return s == o.Value, s
		},
	}
}

// linearizable asks porcupine about the operations on one key. Reads without an
// answer say nothing; what was refused must not have happened; what is unknown
// stays open to the end.
func linearizable(model porcupine.Model, ops []Op) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model, history(ops), decideWithin)
}

func history(ops []Op) []porcupine.Operation {
	seen := map[string]bool{}
	for _, o := range ops {
		if o.Kind == "reg read" && o.Result == OK {
			seen[o.Value] = true
		}
	}
	var h []porcupine.Operation
	open := 0
	for _, o := range ops {
		read := o.Kind == "reg read" || o.Kind == "has read"
		end, client := o.End, o.Client
		switch {
		case o.Result == OK:
		case read, o.Result != Unknown:
			continue
		case o.Kind == "reg write" && !seen[o.Value]:
			continue // nobody saw it: it may as well happen after the end
		default:
			end, client = math.MaxInt64, 10_000+open // its client went on meanwhile
			open++
		}
		h = append(h, porcupine.Operation{ClientId: client, Input: o, Call: o.Start, Output: o.Value, Return: end})
	}
	return h
}
