package docs

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository.
const root = "../.."

// pages are README.md and all below docs.
func pages(t *testing.T) (list []*Page) {
	t.Helper()
	paths := []string{filepath.Join(root, "README.md")}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	}))
	for _, path := range paths {
		page, err := Read(path)
		require.NoError(t, err)
		list = append(list, page)
	}
	require.Greater(t, len(list), 30)
	return list
}

// name is how a page is called in the repository.
func (p *Page) name() string { return strings.TrimPrefix(p.Path, root+"/") }

func TestMarkers(t *testing.T) {
	page, err := Read("testdata/page.md")
	require.NoError(t, err)
	require.Equal(t, []*Block{
		{Line: 4, Language: "sh", Text: "echo one…\n", Prints: "one\n…\n"},
		{Line: 8, Language: "text", Text: "one\n…\n"},
		{Line: 15, Language: "sh", Text: "false\n", Exit: 1, Repeat: true},
		{Line: 22, Language: "sh", Text: "indented\n", NotRun: "there is no such command"},
		{Line: 26, Language: "sh", Text: "of a comment\n"},
		{Line: 30, Language: "sh", Text: "sleep 100\n", Terminal: true},
	}, page.Blocks)
	require.Empty(t, page.Prose[3])
	require.Equal(t, "# A page", page.Prose[0])

	_, err = Read("testdata/stray.md")
	require.ErrorContains(t, err, "stray.md:3: a marker without a block behind it")
}

func TestWhatABlockMayPrint(t *testing.T) {
	want := pattern("one …\n…\nlast  column\n", true)
	require.True(t, want.MatchString("one two\nlast column\n"))
	require.True(t, want.MatchString("one \nand\nmore\n  last      column \n"))
	require.False(t, want.MatchString("two\nlast column\n"))
	require.False(t, want.MatchString("one two\nlast column\nand more\n"))
	require.True(t, pattern("ready\n", false).MatchString("not yet\nready\nafter it\n"))
}
