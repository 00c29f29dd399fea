package docs

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Block is a fenced block of a page, or the commands of a comment.
type Block struct {
	Line     int // of its first line, in the page
	Language string
	Text     string

	NotRun   string // the reason
	Terminal bool   // it goes on in a terminal of its own
	Repeat   bool   // until it prints Prints
	Exit     int    // the code it ends with
	Prints   string // the block of text behind it
}

// Page is what a Markdown file holds for the tests.
type Page struct {
	Path   string
	Blocks []*Block
	Prose  []string // its lines outside blocks, at their numbers; "" inside
}

var marker = regexp.MustCompile(`^<!-- (not run: (.+)|own terminal|exits (\d+)|repeat) -->$`)

// Read reads a page. What looks like a marker and is none, or has no block behind it, is an error.
func Read(path string) (*Page, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	p := &Page{Path: path}
	var open *Block // being read
	var end, indent string
	next := new(Block) // what markers said of the block that comes
	marked := false
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		bare := strings.TrimSpace(line)
		if open != nil {
			p.Prose = append(p.Prose, "")
			if bare == end {
				open = nil
				continue
			}
			open.Text += strings.TrimPrefix(line, indent) + "\n"
			continue
		}
		switch {
		case bare == "<!-- run":
			open, end = &Block{Line: n + 1, Language: "sh"}, "-->"
			p.Blocks = append(p.Blocks, open)
		case strings.HasPrefix(bare, "```"):
			open, end = next, "```"
			indent = line[:strings.Index(line, "```")]
			open.Line, open.Language = n+1, strings.TrimPrefix(bare, "```")
			p.Blocks = append(p.Blocks, open)
			next, marked = new(Block), false
		case marker.MatchString(bare):
			marked = true
			m := marker.FindStringSubmatch(bare)
			switch {
			case m[2] != "":
				next.NotRun = m[2]
			case m[3] != "":
				next.Exit, _ = strconv.Atoi(m[3]) // digits
			case m[1] == "repeat":
				next.Repeat = true
			default:
				next.Terminal = true
			}
		case marked:
			return nil, fmt.Errorf("%s:%d: a marker without a block behind it", path, n)
		}
		if open != nil {
			p.Prose = append(p.Prose, "")
		} else {
			p.Prose = append(p.Prose, line)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", path, open.Line)
	}
	for i, b := range p.Blocks[:max(0, len(p.Blocks)-1)] {
		if after := p.Blocks[i+1]; b.Language == "sh" && after.Language == "text" {
			b.Prints = after.Text
		}
	}
	return p, scan.Err()
}

// Runs reports whether something of the page is run.
func (p *Page) Runs() bool {
	for _, b := range p.Blocks {
		if b.Language == "sh" && b.NotRun == "" {
			return true
		}
	}
	return false
}

var blanks = regexp.MustCompile(` +`)

// pattern matches what a block may print. Columns may be wider than in the page.
func pattern(prints string, whole bool) *regexp.Regexp {
	var b strings.Builder
	for line := range strings.Lines(prints) {
		line = strings.TrimSpace(line)
		if line == "…" {
			b.WriteString(`(.*\n)*?`)
			continue
		}
		quoted := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
		b.WriteString(`[ \t]*` + blanks.ReplaceAllString(quoted, " +") + `[ \t]*\n`)
	}
	if whole {
		return regexp.MustCompile(`\A` + b.String() + `\z`)
	}
	return regexp.MustCompile(b.String())
}
