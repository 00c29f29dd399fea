package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// languages are those of blocks. Of them sh is run; other names of it would hide commands.
var languages = []string{"sh", "text", "yaml", "json", "http", "mermaid",
	"js", "jsx", "python", "java", "go", "csharp", "ruby", "php", "rust", "swift", "kotlin", "dart", "elixir"}

func TestEveryBlockHasALanguage(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if !slices.Contains(languages, b.Language) {
				t.Errorf("%s:%d: a block of language %q: shell commands are sh, what they print is text", page.name(), b.Line, b.Language)
			}
		}
		for i, line := range page.Prose {
			if strings.HasPrefix(line, "    ") && !strings.HasPrefix(strings.TrimSpace(line), "-") && i > 0 && page.Prose[i-1] == "" {
				t.Errorf("%s:%d: an indented block; use a fence", page.name(), i+1)
			}
		}
	}
}

var (
	commandLine = regexp.MustCompile(`(?:^|[|;&(]|&&|\s)(?:bin/)?flagraft ([a-z][^|;&)\n]*)`)
	codeSpan    = regexp.MustCompile("`(?:bin/)?flagraft ([a-z][^`]*)`")
	flagName    = regexp.MustCompile(`(?:^|\s)(--[a-z0-9-]+)`)
	word        = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// TestCommandsExist checks each flagraft command line in a block or in the text, run or not: that the
// command and its flags are there.
func TestCommandsExist(t *testing.T) {
	binary := os.Getenv("FLAGRAFT_BINARY")
	if binary == "" {
		t.Skip("FLAGRAFT_BINARY is not set")
	}
	help := map[string]string{}
	ask := func(command string) string {
		text, known := help[command]
		if !known {
			out, _ := exec.Command(binary, append(strings.Fields(command), "--help")...).Output() // a wrong one says so on stderr
			text = string(out)
			help[command] = text
		}
		return text
	}
	found := 0
	check := func(page *Page, line int, arguments string) {
		found++
		arguments, _, _ = strings.Cut(arguments, " #")
		command := ""
		for _, w := range strings.Fields(arguments) {
			if !word.MatchString(w) || !strings.Contains(ask(strings.TrimSpace(command+" "+w)), "\n  flagraft "+strings.TrimSpace(command+" "+w)) {
				if word.MatchString(w) && strings.Contains(ask(command), "Available Commands:") {
					command = "" // of a group there is no such one
				}
				break
			}
			command = strings.TrimSpace(command + " " + w)
		}
		if command == "" {
			t.Errorf("%s:%d: flagraft %s: there is no such command", page.name(), line, arguments)
			return
		}
		for _, m := range flagName.FindAllStringSubmatch(arguments, -1) {
			if !regexp.MustCompile(regexp.QuoteMeta(m[1])+`\b`).MatchString(ask(command)) && m[1] != "--help" {
				t.Errorf("%s:%d: flagraft %s has no flag %s", page.name(), line, command, m[1])
			}
		}
	}
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if b.Language != "sh" {
				continue
			}
			for _, m := range commandLine.FindAllStringSubmatch(strings.ReplaceAll(b.Text, "\\\n", " "), -1) {
				check(page, b.Line, m[1])
			}
		}
		for i, line := range page.Prose {
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				check(page, i+1, m[1])
			}
		}
	}
	require.Greater(t, found, 60)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ (.*)$`)
	notWord = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are what links may name in a page: its headings as GitHub and GitLab call them.
func (p *Page) anchors() (list []string) {
	for _, line := range p.Prose {
		if m := heading.FindStringSubmatch(line); m != nil {
			list = append(list, strings.ReplaceAll(notWord.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
		}
	}
	return list
}

// TestLinks checks that files and headings that pages link to are there.
func TestLinks(t *testing.T) {
	list := pages(t)
	for _, more := range []string{"ARCHITECTURE.md", "CHANGELOG.md", "e2e/README.md", "console/README.md", "deploy/helm/flagraft/README.md"} {
		page, err := Read(filepath.Join(root, more))
		require.NoError(t, err)
		list = append(list, page)
	}
	found := 0
	for _, page := range list {
		for i, line := range page.Prose {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				found++
				file, anchor, _ := strings.Cut(m[1], "#")
				target := page.Path
				if file != "" {
					target = filepath.Join(filepath.Dir(page.Path), file)
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s:%d: there is no %s", page.name(), i+1, m[1])
				} else if anchor != "" {
					to, err := Read(target)
					require.NoError(t, err)
					if !slices.Contains(to.anchors(), anchor) {
						t.Errorf("%s:%d: %s has no heading %q", page.name(), i+1, target, anchor)
					}
				}
			}
		}
	}
	require.Greater(t, found, 60)
}

// TestIndex checks that docs/README.md leads to every page.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	require.NoError(t, err)
	for _, page := range pages(t) {
		if path, below := strings.CutPrefix(page.name(), "docs/"); below && path != "README.md" && !strings.HasPrefix(path, "adr/") {
			require.Contains(t, string(index), "]("+path+")")
		}
	}
}
