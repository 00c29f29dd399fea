// Command openapi compares a served API description with the recorded one and
// prints how many recorded operations it does for:
//
//	openapi -recorded openapi-core.yaml -exceptions e2e/openapi/exceptions.tsv swagger.json
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/flagraft/flagraft/e2e/openapi"
)

func main() {
	recorded := flag.String("recorded", "../shared/spec/openapi-core.yaml", "the reference's description")
	exceptions := flag.String("exceptions", "e2e/openapi/exceptions.tsv", "differences that are meant")
	flag.Parse()
	if err := run(*recorded, flag.Arg(0), *exceptions); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(recorded, served, exceptions string) error {
	want, err := read(recorded)
	if err != nil {
		return err
	}
	have, err := read(served)
	if err != nil {
		return err
	}
	meant, err := os.ReadFile(exceptions)
	if err != nil {
		return err
	}
	r, err := openapi.Judge(want, have, string(meant))
	if err != nil {
		return err
	}
	text := ""
	for _, d := range r.Differences {
		text += d.String() + "\n"
	}
	if _, err := fmt.Fprintf(os.Stdout, "%s%v\n", text, r); err != nil {
		return err
	}
	return r.Err()
}

func read(name string) (*openapi.Document, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d, err := openapi.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}
