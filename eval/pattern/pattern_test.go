package pattern

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPython(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{`a|b`, "ba", true},
		{`b`, "ab", false},
		{`a|^b`, "b", true},
		{`a$`, "a\n", true},
		{`a$`, "a\n\n", false},
		{`a\Z`, "a\n", false},
		{`(?m)a$.`, "a\nb", false},
		{`(?m)a$\nb`, "a\nb", true},
		{`(?s)a.b`, "a\nb", true},
		{`a.b`, "a\nb", false},
		{`a.b`, "a\rb", true},
		{`(?i)ÉA`, "éa", true},
		{`(?i:a)b`, "Ab", true},
		{`(?i:a)b`, "AB", false},
		{`(?i)(?-i:a)b`, "aB", true},
		{`(?i)(?-i:a)b`, "Ab", false},
		{`\d+$`, "٣4", true},
		{`(?a)\d+$`, "٣", false},
		{`\w+$`, "naïve_é9", true},
		{`\W`, "é", false},
		{`[\W]`, "é", false},
		{`[\W]`, "-", true},
		{`[^\W]`, "é", true},
		{`[\D]`, "٣", false},
		{`[\S]`, "\u00a0", false},
		{`\s`, "\u2003", true},
		{`\s`, "\x1c", true},
		{`[\s\d]+$`, " 1\u3000", true},
		{`[\x41-\u0043]+$`, "ABC", true},
		{`\101`, "A", true},
		{`\0`, "\x00", true},
		{`[\b]`, "\b", true},
		{`x{,2}y`, "xxy", true},
		{`x{2}`, "xx", true},
		{`x{`, "x{", true},
		{`x{a}`, "x{a}", true},
		{`[]a]+$`, "]a", true},
		{`[^]]`, "]", false},
		{`[[:alpha:]]`, "a]", true},
		{`[a-]+$`, "a-", true},
		{`[--a]`, ".", true},
		{`(?P<n>a)(?:b)`, "ab", true},
		{`a(?#comment)b`, "ab", true},
		{`\é\-\.`, "é-.", true},
		{`a+?b*?c??`, "a", true},
	} {
		p := Python(test.pattern)
		require.NotNil(t, p, test.pattern)
		require.Equal(t, test.want, p.MatchString(test.text), "%s %q", test.pattern, test.text)
	}
}

func TestRefused(t *testing.T) {
	for _, pattern := range []string{`(`, `)`, `a)`, `[`, `[a`, `[b-a]`, `*`, `a**`, `a*+`, `(?=a)`, `(?!a)`, `(?<=a)b`, `(?>a)`, `(a)\1`, `(?P=n)`,
		`(?x)a`, `(?(1)a|b)`, `a(?i)b`, `\`, `\q`, `\x4`, `\u12`, `[\d-z]`, `(?#`, `(?P<n`, `a{5,2}`, "\xff",
		`(((a{30}){30}){30})`, `(?:` + strings.Repeat(`\w{100}`, 100) + `)`, strings.Repeat("a", 3000), strings.Repeat(`\w`, 65), `(?i)[` + strings.Repeat(`a-\uffff`, 9) + `]`, strings.Repeat(`[\W]`, 400)} {
		require.Nil(t, Python(pattern), pattern)
	}
}

// A condition's value is limited in characters, so that a pattern of any script may be as long.
func TestLongestCondition(t *testing.T) {
	for _, name := range []string{"a", "é", "東", "😀"} {
		p := Python(strings.Repeat(name, 998) + "|b")
		require.NotNil(t, p, name)
		require.True(t, p.MatchString("b"), name)
		require.NotNil(t, IRegexp(strings.Repeat(name, 998), true), name)
	}
}

func TestIRegexp(t *testing.T) {
	require.True(t, IRegexp("a.c", true).MatchString("abc"))
	require.False(t, IRegexp("a.c", true).MatchString("a\rc"))
	require.False(t, IRegexp("a", true).MatchString("ab"))
	require.True(t, IRegexp("b", false).MatchString("abc"))
	require.True(t, IRegexp(`[.]\.`, true).MatchString(".."))
	require.Nil(t, IRegexp("(", true))
}

func FuzzPython(f *testing.F) {
	for _, pattern := range []string{`(?i)[^\W\d]+$`, `(?P<n>a{2,3}?)|\x41`, `[]\]-a]`, `(?m-s:^.$)`} {
		f.Add(pattern, "abc")
	}
	f.Fuzz(func(_ *testing.T, pattern, text string) {
		if p := Python(pattern); p != nil {
			p.MatchString(text)
		}
		if p := IRegexp(pattern, true); p != nil {
			p.MatchString(text)
		}
	})
}
