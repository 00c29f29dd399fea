package eval

import "strings"

// semverSuffix asks for a comparison as semantic versions.
const semverSuffix = ":semver"

// version is a strict Semantic Version 2.0.0. Its parts are texts, so numbers
// may have any size and parsing does not allocate. Build metadata is dropped:
// it does not take part in precedence.
type version struct {
	major, minor, patch string
	prerelease          string // "" for a release
}

func parseVersion(s string) (version, bool) {
	s = strings.TrimSuffix(s, "\n") // the reference's pattern ends in $
	core, build, hasBuild := strings.Cut(s, "+")
	if hasBuild && !versionIdentifiers(build, false) {
		return version{}, false
	}
	core, prerelease, hasPrerelease := strings.Cut(core, "-")
	if hasPrerelease && !versionIdentifiers(prerelease, true) {
		return version{}, false
	}
	major, rest, ok := strings.Cut(core, ".")
	if !ok {
		return version{}, false
	}
	minor, patch, ok := strings.Cut(rest, ".")
	if !ok || !versionNumber(major) || !versionNumber(minor) || !versionNumber(patch) {
		return version{}, false
	}
	return version{major, minor, patch, prerelease}, true
}

func versionNumber(s string) bool {
	return s != "" && allDigits(s) && (s == "0" || s[0] != '0')
}

// versionIdentifiers checks a dot-separated list of [0-9A-Za-z-]+; numeric ones
// have no leading zero in a prerelease.
func versionIdentifiers(s string, prerelease bool) bool {
	for more := true; more; {
		var id string
		id, s, more = strings.Cut(s, ".")
		if id == "" || prerelease && allDigits(id) && !versionNumber(id) {
			return false
		}
		for i := 0; i < len(id); i++ {
			c := id[i]
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// compare is the precedence of Semantic Versioning §11.
func (v version) compare(other version) int {
	if c := compareDigits(v.major, other.major); c != 0 {
		return c
	}
	if c := compareDigits(v.minor, other.minor); c != 0 {
		return c
	}
	if c := compareDigits(v.patch, other.patch); c != 0 {
		return c
	}
	switch {
	case v.prerelease == other.prerelease:
		return 0
	case v.prerelease == "":
		return 1
	case other.prerelease == "":
		return -1
	}
	return comparePrerelease(v.prerelease, other.prerelease)
}

func comparePrerelease(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		if c := comparePrereleaseIdentifier(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
}

func comparePrereleaseIdentifier(x, y string) int {
	switch xn, yn := allDigits(x), allDigits(y); {
	case xn && yn:
		return compareDigits(x, y)
	case xn:
		return -1
	case yn:
		return 1
	}
	return strings.Compare(x, y)
}

// compareDigits orders decimal numbers without leading zeros.
func compareDigits(x, y string) int {
	switch {
	case len(x) < len(y):
		return -1
	case len(x) > len(y):
		return 1
	}
	return strings.Compare(x, y)
}
