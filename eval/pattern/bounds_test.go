package pattern

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// hostile are patterns made to be slow, just within the limits.
var hostile = map[string]string{
	"not words":        `[\W][\W]`,
	"fold not words":   `(?i)[\W][\W]`,
	"words":            strings.Repeat(`\w`, 64),
	"fold words":       `(?i)` + strings.Repeat(`\w`, 64),
	"nested stars":     strings.Repeat(`(`, 200) + "a" + strings.Repeat(`*)*`, 200),
	"optional":         strings.Repeat(`a?`, 600) + "b",
	"repeats":          `(?:(?:a?){30}){30}b`,
	"alternatives":     `(?:` + strings.Repeat(`a|`, 900) + `b)*c`,
	"overlapping sets": `(?i)[` + strings.Repeat(`\u0041-\uffff`, 8) + `]*c`,
	"dots":             strings.Repeat(`.*`, 300) + "b",
}

// BenchmarkHostile shows what the slowest patterns within the limits cost.
func BenchmarkHostile(b *testing.B) {
	text := strings.Repeat("a", 2000)
	for name, pattern := range hostile {
		b.Run(name+"/compile", func(b *testing.B) {
			for b.Loop() {
				Python(pattern)
			}
		})
		if compiled := Python(pattern); compiled != nil {
			b.Run(name+"/match", func(b *testing.B) {
				for b.Loop() {
					compiled.MatchString(text)
				}
			})
		}
	}
}

func TestNotWords(t *testing.T) {
	p := Python(`[\W]`)
	for r := rune(0); r <= unicode.MaxRune; r += 1 + r/5000 {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if s := string(r); s != "\uFFFD" {
			require.Equal(t, !word, p.MatchString(s), "%U", r)
		}
	}
}
