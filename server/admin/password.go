package admin

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The password rules are Django's four validators, in its order, with its texts.

const (
	minPassword = 8
	// maxSimilarity is the share of common characters with the user's own data from which a password is refused.
	maxSimilarity = 0.7
)

//go:embed password_common.txt
var commonPasswords string

// passwordFaults lists what is wrong with a password.
func passwordFaults(password, firstName, lastName, email string) []string {
	var faults []string
	if like := similarAttribute(password, firstName, lastName, email); like != "" {
		faults = append(faults, "The password is too similar to the "+like+".")
	}
	if utf8.RuneCountInString(password) < minPassword {
		faults = append(faults, "This password is too short. It must contain at least 8 characters.")
	}
	if strings.Contains(commonPasswords, "\n"+strings.ToLower(strings.TrimSpace(password))+"\n") {
		faults = append(faults, "This password is too common.")
	}
	if password != "" && strings.Trim(password, "0123456789") == "" {
		faults = append(faults, "This password is entirely numeric.")
	}
	return faults
}

func similarAttribute(password, firstName, lastName, email string) string {
	for _, a := range []struct{ name, value string }{{"first name", firstName}, {"last name", lastName}, {"email", email}} {
		if similarToAny(strings.ToLower(password), strings.ToLower(a.value)) {
			return a.name
		}
	}
	return ""
}

var nonWord = regexp.MustCompile(`[^\pL\pN_]+`)

func similarToAny(password, value string) bool {
	if value == "" {
		return false
	}
	for _, part := range append(nonWord.Split(value, -1), value) {
		if part != "" && similarity(password, part) >= maxSimilarity {
			return true
		}
	}
	return false
}

// similarity is the upper bound that Python's difflib gives for its ratio: twice the common characters over all characters. Parts that are
// tiny beside the password count as different.
func similarity(a, b string) float64 {
	la, lb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if la >= 10*lb && float64(lb) < maxSimilarity/2*float64(la) {
		return 0
	}
	left := map[rune]int{}
	for _, r := range b {
		left[r]++
	}
	common := 0
	for _, r := range a {
		if left[r] > 0 {
			left[r]--
			common++
		}
	}
	return 2 * float64(common) / float64(la+lb)
}
