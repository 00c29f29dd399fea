package admin

import (
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// onboardingStatus tells when an environment's flags were evaluated first, and by what.
type onboardingStatus struct {
	FirstEvaluatedAt       fsm.Time `json:"first_evaluated_at"`
	FirstEvaluatedSDKLabel *string  `json:"first_evaluated_sdk_label"`
}

func environmentOnboardingRows() []route.Row {
	const path = "/api/v1/environments/{environment_api_key}/onboarding-status/"
	known := environment("environment key", Path("environment_api_key"), func(*Ctx) bool { return true }).Missing404()
	return []route.Row{
		{Method: "GET", Path: path, OperationID: "api_v1_environments_onboarding_status_retrieve", Tag: "Environments", Permission: known,
			Handler: read(getOnboardingStatus)},
		{Method: "PUT", Path: path, OperationID: "api_v1_environments_onboarding_status_update", Tag: "Environments", Permission: known, Hidden: true,
			Kind: route.Write, Status: 204, Handler: write(setOnboardingStatus)},
	}
}

// getOnboardingStatus falls back on the usage counts, whose buckets are days.
func getOnboardingStatus(c *Ctx, _ struct{}) (onboardingStatus, error) {
	if o, ok := fsm.EnvironmentOnboardings.Get(c, c.Environment.ID); ok {
		return onboardingStatus{o.FirstEvaluatedAt, o.SDKLabel}, nil
	}
	var first fsm.Time
	for _, kind := range []fsm.UsageKind{fsm.UsageFlags, fsm.UsageIdentities, fsm.UsageEnvironmentDocument} {
		if u, ok := fsm.UsagesByKey.First(c, c.Environment.ID, byte(kind)); ok && (first.IsZero() || u.Bucket < first) {
			first = max(u.Bucket, c.Environment.CreatedDate)
		}
	}
	return onboardingStatus{FirstEvaluatedAt: first}, nil
}

// setOnboardingStatus is open to everybody who has the key, so only the first report counts.
func setOnboardingStatus(c *Ctx, in struct {
	Label *string `json:"first_evaluated_sdk_label" v:"blank,max=100"`
}) (route.Empty, error) {
	if _, ok := fsm.EnvironmentOnboardings.Get(c, c.Environment.ID); !ok {
		fsm.EnvironmentOnboardings.Put(c.Tx, fsm.EnvironmentOnboarding{ID: c.Environment.ID, FirstEvaluatedAt: c.Now(), SDKLabel: in.Label})
	}
	return c.OK()
}
