package admin

import (
	"encoding/json"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// onboardingTask is a step of the front end's tour.
type onboardingTask struct {
	Name        string   `json:"name" v:"required,max=200"`
	CompletedAt fsm.Time `json:"completed_at"`
}

type onboardingTools struct {
	Completed    bool     `json:"completed"`
	Integrations []string `json:"integrations" v:"max=100"`
}

// onboardingInput replaces the members that are sent and leaves the others.
type onboardingInput struct {
	Tasks              route.Optional[[]onboardingTask] `json:"tasks" v:"max=100"`
	Tools              route.Optional[onboardingTools]  `json:"tools"`
	HostingPreferences route.Optional[[]string]         `json:"hosting_preferences" v:"max=100"`
}

// Validate wants something to store.
func (in *onboardingInput) Validate(e *route.Errors) {
	if !in.Tasks.Set && !in.Tools.Set && !in.HostingPreferences.Set {
		e.NonField("At least one of tasks, tools and hosting_preferences is required.")
	}
}

// updateOnboarding keeps the account's onboarding as JSON, which users/me shows.
func updateOnboarding(c *Ctx, in onboardingInput) (route.Empty, error) {
	u := *c.Principal.User
	stored := map[string]any{}
	if len(u.Onboarding) > 0 {
		if err := json.Unmarshal(u.Onboarding, &stored); err != nil {
			return c.fail(err)
		}
	}
	if in.Tasks.Set {
		stored["tasks"] = mapped(in.Tasks.Value, func(t onboardingTask) map[string]any { return t.stored(c.Now()) })
	}
	if in.Tools.Set {
		stored["tools"] = map[string]any{"completed": in.Tools.Value.Completed, "integrations": texts(in.Tools.Value.Integrations)}
	}
	if in.HostingPreferences.Set {
		stored["hosting_preferences"] = texts(in.HostingPreferences.Value)
	}
	var err error
	if u.Onboarding, err = json.Marshal(stored); err != nil {
		return c.fail(err)
	}
	fsm.Users.Put(c.Tx, u)
	return c.OK()
}

func (t onboardingTask) stored(now fsm.Time) map[string]any {
	if t.CompletedAt.IsZero() {
		t.CompletedAt = now
	}
	return map[string]any{"name": t.Name, "completed_at": t.CompletedAt.Std().Format(time.RFC3339Nano)}
}

// texts is a list that is [] and not null in JSON.
func texts(list []string) []string { return append([]string{}, list...) }
