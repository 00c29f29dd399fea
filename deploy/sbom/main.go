// Command sbom lists what a Go binary was built from, as a CycloneDX document: the build information inside it names every module with its
// version and checksum. The same binary always gives the same document.
//
//	go run ./deploy/sbom bin/flagraft > flagraft.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(describe(info, hex.EncodeToString(sum.Sum(nil))))
}

// The parts of CycloneDX 1.5 that are used.
type document struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Package    string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func describe(info *debug.BuildInfo, binary string) document {
	main := module(&info.Main)
	main.Type, main.Hashes = "application", []hash{{"SHA-256", binary}}
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision", "vcs.time", "vcs.modified"}, s.Key) {
			main.Properties = append(main.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	list := []component{{
		Type: "library", Ref: "pkg:golang/std@" + goVersion, Name: "std", Version: goVersion, Package: "pkg:golang/std@" + goVersion,
	}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		list = append(list, module(dep))
	}
	own := dependency{Ref: main.Ref}
	for _, c := range list {
		own.DependsOn = append(own.DependsOn, c.Ref)
	}
	return document{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Serial:   "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte("sha256:"+binary)).String(),
		Metadata: metadata{main}, Components: list, Dependencies: []dependency{own},
	}
}

// module describes a module. Its checksum is that of go.sum: of the list of its files, so a property rather than the hash of a file.
func module(m *debug.Module) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, Package: "pkg:golang/" + strings.ToLower(m.Path)}
	if m.Version != "" {
		c.Package += "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	}
	c.Ref = c.Package
	if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
			c.Properties = append(c.Properties, property{"golang:h1", hex.EncodeToString(raw)})
		}
	}
	return c
}
