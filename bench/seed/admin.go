package seed

import (
	"context"
	"fmt"
	"sync"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// writers is how many admin requests are under way at once: the leader commits
// everything that waits in one log entry.
const writers = 48

// Project makes a project with the profile's features, segments and overrides.
func (p Profile) Project(ctx context.Context, c *nodes.Client, name string) (*nodes.Project, error) {
	project, err := c.NewProject(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	s := seeder{Profile: p, project: project}
	if s.features, err = many(p.Features, func(i int) (int64, error) { return s.feature(ctx, i) }); err != nil {
		return nil, err
	}
	if s.segments, err = many(p.Segments, func(i int) (int64, error) { return s.segment(ctx, i) }); err != nil {
		return nil, err
	}
	_, err = many(p.Segments*p.Overrides, func(i int) (int64, error) { return s.override(ctx, i/p.Overrides, i%p.Overrides) })
	return project, err
}

type seeder struct {
	Profile
	project            *nodes.Project
	features, segments []int64
}

type object = map[string]any

func (s *seeder) post(ctx context.Context, path string, body object) (int64, error) {
	a, err := s.project.Admin.Must(ctx, "POST", path, body, 201)
	if err != nil {
		return 0, fmt.Errorf("seed: %w", err)
	}
	return a.ID("id"), nil
}

func (s *seeder) feature(ctx context.Context, i int) (int64, error) {
	return s.post(ctx, fmt.Sprintf("/api/v1/projects/%d/features/", s.project.ID), object{
		"name": fmt.Sprintf("feature_%02d", i), "default_enabled": i%2 == 0, "initial_value": fmt.Sprintf("value_%02d", i),
	})
}

func (s *seeder) segment(ctx context.Context, i int) (int64, error) {
	conditions := make([]object, s.Conditions)
	for c := range conditions {
		conditions[c] = object{"operator": "EQUAL", "property": traitKey(c), "value": s.traitValue(i, c)}
	}
	return s.post(ctx, fmt.Sprintf("/api/v1/projects/%d/segments/", s.project.ID), object{
		"name": fmt.Sprintf("segment_%02d", i), "project": s.project.ID,
		"rules": []object{{"type": "ALL", "conditions": []object{}, "rules": []object{{"type": "ALL", "rules": []object{}, "conditions": conditions}}}},
	})
}

func (s *seeder) override(ctx context.Context, segment, feature int) (int64, error) {
	return s.post(ctx, fmt.Sprintf("/api/v1/environments/%s/features/%d/create-segment-override/", s.project.EnvironmentKey, s.features[feature]), object{
		"enabled": true, "feature_segment": object{"segment": s.segments[segment]},
		"feature_state_value": object{"type": "unicode", "string_value": fmt.Sprintf("override_%0*d", s.digits(), segment)},
	})
}

// many runs n steps, several at a time, and returns their results in order. After a
// failure no further step begins.
func many(n int, step func(int) (int64, error)) ([]int64, error) {
	var mu sync.Mutex // guards next and failed; a counter that also ends early is no work for an actor
	var next int
	var failed error
	out := make([]int64, n)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || next == n {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var wg sync.WaitGroup
	for range min(writers, n) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				var err error
				if out[i], err = step(i); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return out, failed
}
