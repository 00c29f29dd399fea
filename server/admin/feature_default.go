package admin

import (
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/fsm"
)

// createDefaultState makes the state that a feature starts with in an environment: enabled and value as the feature's defaults say, the
// options in their default shares. With prevent_flag_defaults of the project it is disabled and has no value. It writes no audit row:
// whoever creates the feature or the environment does.
func createDefaultState(tx *fsm.Tx, p fsm.Project, f fsm.Feature, environment uint64) fsm.FeatureState {
	return fsm.FeatureStates.Put(tx, newDefaultState(tx, p, f, environment))
}

// newDefaultState is createDefaultState without storing it.
func newDefaultState(tx *fsm.Tx, p fsm.Project, f fsm.Feature, environment uint64) fsm.FeatureState {
	s := fsm.FeatureState{
		UUID: tx.NewUUID(), Feature: f.ID, Environment: environment, Value: fsm.FeatureValue{Type: fsm.Unicode},
		CreatedAt: tx.Now(), UpdatedAt: tx.Now(), LiveFrom: tx.Now(), Version: 1,
	}
	if !p.PreventFlagDefaults {
		s.Enabled, s.Value = f.DefaultEnabled, initialValue(f.InitialValue)
	}
	for _, o := range fsm.MultivariateOptionsByFeature.List(tx, f.ID) {
		s.Multivariate = append(s.Multivariate, defaultShare(tx, o))
	}
	return s
}

// defaultShare is the share that an option gets in a state which is new, or older than the option.
func defaultShare(tx *fsm.Tx, o fsm.MultivariateOption) fsm.MultivariateValue {
	return fsm.MultivariateValue{ID: tx.NextMultivariateValueID(), UUID: tx.NewUUID(), Option: o.ID, Percentage: o.DefaultPercentageAllocation}
}

// initialValue types the text of a feature's initial value (FACTS §8): an optional sign and digits below 2147483647 are an integer, true,
// True, false and False a boolean, everything else stays text. nil is a text without value.
func initialValue(text *string) fsm.FeatureValue {
	v := fsm.FeatureValue{Type: fsm.Unicode}
	if text == nil {
		return v
	}
	if n, ok := initialInteger(*text); ok {
		v.Type, v.Integer = fsm.Int, &n
		return v
	}
	switch *text {
	case "true", "True", "false", "False":
		b := strings.EqualFold(*text, "true")
		v.Type, v.Boolean = fsm.Bool, &b
	default:
		v.String = text
	}
	return v
}

func initialInteger(s string) (int64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && -2147483647 < n && n < 2147483647
}
