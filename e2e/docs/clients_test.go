package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the console's examples into docs/clients.md")

// languageOf is the language of a block, by the key of the console's example.
var languageOf = map[string]string{"js": "js", "react": "jsx", "node": "js", "python": "python", "java": "java", "go": "go", "dotnet": "csharp", "ruby": "ruby",
	"php": "php", "rust": "rust", "swift": "swift", "kotlin": "kotlin", "flutter": "dart", "curl": "sh"}

var (
	example   = regexp.MustCompile("(?s)key: '([a-z]+)',\\s+title: '([^']+)',\\s+install: '([^']*)',\\s+server: (?:true|false),\\s+code: s => `((?:[^`\\\\]|\\\\.)*)`")
	serverKey = regexp.MustCompile(`\$\{s\.key\.startsWith\('ser\.'\) \? '[^']*' : ''\}`)
	filled    = strings.NewReplacer("${s.key}", "ENVIRONMENT_KEY", "${s.url}", "http://node-a:8000/api/v1/", "${s.feature}", "my_feature", "${encodeURIComponent(s.feature)}", "my_feature", `\\`, `\`)
)

// consoleSections are the examples of the console's page of keys, as docs/clients.md has them.
func consoleSections(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, "console/src/pages/keys/snippets.ts"))
	require.NoError(t, err)
	var b strings.Builder
	found := example.FindAllStringSubmatch(string(source), -1)
	require.Len(t, found, strings.Count(string(source), "code: s => `"), "an example is written in another way")
	for _, m := range found {
		language := languageOf[m[1]]
		require.NotEmpty(t, language, "of the example %s", m[1])
		b.WriteString("\n## " + m[2] + "\n\n")
		if m[3] != "" {
			b.WriteString("Install `" + m[3] + "`.\n\n")
		}
		if language == "sh" {
			b.WriteString("<!-- not run: quickstart.md does it with a real key -->\n")
		}
		b.WriteString("```" + language + "\n" + filled.Replace(serverKey.ReplaceAllString(m[4], "")) + "\n```\n")
	}
	return b.String()
}

// TestClientsAreTheConsoles: docs/clients.md and the console show the same examples.
// go test ./e2e/docs -run TestClientsAreTheConsoles -update copies the console's.
func TestClientsAreTheConsoles(t *testing.T) {
	const begin, end = "<!-- console: made by go test ./e2e/docs -run TestClientsAreTheConsoles -update -->\n", "\n<!-- end of console -->"
	path := filepath.Join(root, "docs/clients.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + consoleSections(t) + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	} else {
		require.Equal(t, want, string(page), "the console's examples changed: run this test with -update")
	}
}
