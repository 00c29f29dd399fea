package fsm

// EnvironmentOnboarding tells when an environment's flags were evaluated first.
// Its id is the environment's.
type EnvironmentOnboarding struct {
	ID               uint64  `cbor:"1,keyasint"`
	FirstEvaluatedAt Time    `cbor:"2,keyasint"`
	SDKLabel         *string `cbor:"3,keyasint,omitempty"`
}

// EnvironmentOnboardings is the table of first evaluations that were reported.
var EnvironmentOnboardings = newTable[EnvironmentOnboarding](36, "EnvironmentOnboardingStatus", func(o *EnvironmentOnboarding) *uint64 { return &o.ID }, nil).since(3)
