package admin

// What a project's max_…_allowed show where no limit is set: the numbers that clients know. They are not enforced.
const (
	shownFeatures         = 1000
	shownSegments         = 500
	shownSegmentOverrides = 2000
)

// full reports whether a limit leaves no room for one more; 0 is no limit.
func full(have, limit int) bool { return limit > 0 && have >= limit }
