package fuzz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Target is one fuzz function.
type Target struct {
	Package string // below the module: "server/route"
	Name    string // "FuzzDecode"

	dir    string // of the package: failing inputs are written to its testdata
	binary string // the package's tests, instrumented
	corpus string // where the fuzzer keeps what it found interesting
}

// String is how results name the target.
func (t Target) String() string { return t.Package + "." + t.Name }

type goPackage struct {
	Dir, ImportPath string
	Module          struct{ Path string }
	TestGoFiles     []string
	XTestGoFiles    []string
}

// Targets builds the packages that have fuzz targets, into dir, and lists those whose name matches.
func Targets(ctx context.Context, dir string, only *regexp.Regexp) ([]Target, error) {
	packages, err := list(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := output(ctx, "go", "env", "GOCACHE")
	if err != nil {
		return nil, err
	}
	var all []Target
	for _, p := range packages {
		names, err := p.fuzzers()
		if err != nil {
			return nil, err
		}
		below := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		binary := filepath.Join(dir, strings.ReplaceAll(below, "/", "_")+".test")
		built := false
		for _, name := range names {
			t := Target{Package: below, Name: name, dir: p.Dir, binary: binary, corpus: filepath.Join(strings.TrimSpace(string(cache)), "fuzz", p.ImportPath)}
			if !only.MatchString(t.String()) {
				continue
			}
			if !built {
				if err := build(ctx, p, binary); err != nil {
					return nil, err
				}
				built = true
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// build compiles a package's tests so that they count coverage in the module's own packages. go test -fuzz counts it in every package of the
// binary, most of which are no target, and reading the counts is most of what an execution then costs: three to eight times as much.
func build(ctx context.Context, p goPackage, binary string) error {
	_, err := output(ctx, "go", "test", "-c", "-gcflags="+p.Module.Path+"/...=-d=libfuzzer", "-o", binary, p.ImportPath)
	return err
}

func list(ctx context.Context) (all []goPackage, err error) {
	raw, err := output(ctx, "go", "list", "-json=Dir,ImportPath,Module,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}

// fuzzers lists the fuzz functions of a package, in the order of its files.
func (p goPackage) fuzzers() (names []string, err error) {
	for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range source.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, nil
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, exit.Stderr)
	}
	return out, err
}
