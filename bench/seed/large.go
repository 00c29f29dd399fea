package seed

import (
	"context"
	"fmt"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// Large says how much there is in a project whose lists are long.
type Large struct {
	Features     int `json:"features"`
	Environments int `json:"environments"` // the one of the project included
	Segments     int `json:"segments"`
	Overrides    int `json:"overrides"`  // of segments, in each environment
	Identities   int `json:"identities"` // in the first environment
}

// DefaultLarge is as large as the default limits allow.
func DefaultLarge() Large { return Large{1000, 20, 500, 100, 1_000_000} }

// QuickLarge shows faults and settles nothing.
func QuickLarge() Large { return Large{100, 3, 50, 10, 20_000} }

// Project makes the project without its identities.
func (l Large) Project(ctx context.Context, c *nodes.Client, name string) (*nodes.Project, error) {
	project, err := c.NewProject(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	s := seeder{Profile: Profile{Conditions: 3}, project: project}
	keys := []string{project.EnvironmentKey}
	for i := 1; i < l.Environments; i++ {
		a, err := project.Admin.Must(ctx, "POST", "/api/v1/environments/", object{"name": fmt.Sprintf("environment_%02d", i), "project": project.ID}, 201)
		if err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		keys = append(keys, a.Text("api_key"))
	}
	if s.features, err = many(l.Features, func(i int) (int64, error) { return s.feature(ctx, i) }); err != nil {
		return nil, err
	}
	if s.segments, err = many(l.Segments, func(i int) (int64, error) { return s.segment(ctx, i) }); err != nil {
		return nil, err
	}
	_, err = many(len(keys)*l.Overrides, func(i int) (int64, error) {
		environment, n := *project, i/len(keys)
		environment.EnvironmentKey = keys[i%len(keys)]
		in := seeder{Profile: s.Profile, project: &environment, features: s.features, segments: s.segments}
		return in.override(ctx, n%l.Segments, (n*7)%l.Features)
	})
	return project, err
}
