package bench

import "slices"

// Spread is a median with its extremes.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (m + v[len(v)/2-1]) / 2
	}
	return Spread{m, v[0], v[len(v)-1]}
}

// figure is one figure of a sample.
type figure func(*Sample) float64

func perSecond(s *Sample) float64 { return s.PerSecond }
func cpu(s *Sample) float64       { return s.CPU }
func p50(s *Sample) float64       { return s.P50 }
func p99(s *Sample) float64       { return s.P99 }
func p999(s *Sample) float64      { return s.P999 }

func spreadOf(samples []Sample, f figure) Spread {
	values := make([]float64, len(samples))
	for i := range samples {
		values[i] = f(&samples[i])
	}
	return spread(values)
}

func medianOf(samples []Sample, f figure) float64 { return spreadOf(samples, f).Median }

// ratios compares the samples of each turn, which were taken right after each other.
func (s *Scenario) ratios(f figure) Spread { return ratios(s.Flagraft, s.Floor, f) }

func ratios(some, others []Sample, f figure) Spread {
	var values []float64
	for i := range min(len(some), len(others)) {
		if other := f(&others[i]); other > 0 {
			values = append(values, f(&some[i])/other)
		}
	}
	return spread(values)
}
