package fsm

// Level is where a permission row applies.
type Level uint8

// The three levels of Flagsmith's permission model.
const (
	LevelOrganisation Level = 1
	LevelProject      Level = 2
	LevelEnvironment  Level = 3
)
