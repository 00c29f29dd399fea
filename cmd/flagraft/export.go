package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/server/portable"
)

func newExportCommand() *cobra.Command {
	var node remote
	var out, organisation, asOf, index string
	var identities, secrets bool
	cmd := &cobra.Command{
		Use:   "export -o FILE",
		Short: "Write organisations, projects and flags as JSON",
		Long: "Write what a running installation holds as JSON to read, edit, keep under version control and import elsewhere: all of one moment.\n" +
			"Accounts, permissions, audit and usage stay behind (flagraft backup takes everything).",
		Args: exactly(0, "no arguments"),
		Example: "  flagraft export -o flags.json\n" +
			"  flagraft export -o before.json --as-of 2026-03-01T12:00:00Z",
	}
	node.register(cmd.Flags())
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "file to write, - for the terminal; it appears whole or not at all (mode 0600)")
	f.StringVar(&organisation, "organisation", "", "id of the only organisation to write")
	f.BoolVar(&identities, "identities", false, "identities, with traits and overrides, too")
	f.BoolVar(&secrets, "secrets", false, "server-side environment keys, too")
	f.StringVar(&asOf, "as-of", "", "as it was at a time (RFC 3339), as far as the change log reaches back")
	f.StringVar(&index, "index", "", "as it was at a log index")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case out == "":
			return usageError("-o FILE is missing: where should the export go? (-: the terminal)")
		case asOf != "" && index != "":
			return usageError("give --as-of or --index, not both")
		}
		q := url.Values{}
		for name, v := range map[string]string{"organisation": organisation, "as_of": asOf, "index": index} {
			if v != "" {
				q.Set(name, v)
			}
		}
		q.Set("identities", fmt.Sprint(identities))
		q.Set("secrets", fmt.Sprint(secrets))
		resp, err := node.do(cmd.Context(), "GET", "/api/flagraft/v1/export/?"+q.Encode(), nil)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }() // only read
		if out == "-" {
			_, err := io.Copy(cmd.OutOrStdout(), resp.Body)
			return err
		}
		size, err := writeWhole(out, func(f *os.File) error {
			if _, err := io.Copy(f, newProgress(cmd.ErrOrStderr(), "received", resp.Body, resp.ContentLength)); err != nil {
				return fmt.Errorf("the export broke off: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes\n", out, size)
		return err
	}
	return cmd
}

func newImportCommand() *cobra.Command {
	var node remote
	var into string
	var form outputFormat
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import the projects of an export",
		Long: "Import the projects of an export, one after the other, each whole or not at all. They get ids of their own; keys that are taken are made\n" +
			"anew and told. A project whose name its organisation has already is refused, and ends the import.",
		Example: "  flagraft import flags.json\n  flagraft import flags.json --into 3 -o json",
		Args:    exactly(1, "one exported file"),
	}
	node.register(cmd.Flags())
	form.register(cmd)
	cmd.Flags().StringVar(&into, "into", "", "id of the organisation that gets the projects (default: the one with the document's name, or a new one)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		raw, err := os.ReadFile(args[0])
		if err != nil {
			return &codedError{exitUsage, err}
		}
		d, err := portable.Parse(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		path := "/api/flagraft/v1/import/"
		if into != "" {
			path += "?into=" + url.QueryEscape(into)
		}
		all, steps := []portable.Imported{}, newSteps(cmd.ErrOrStderr(), "imported", projectsIn(d))
		defer steps.end()
		tell := func() error { // also of an import that ends early: what it made has new ids, and may have new keys
			if shown, err := form.json(cmd.OutOrStdout(), all); shown {
				return err
			}
			return printImported(cmd.OutOrStdout(), all)
		}
		for i := range d.Organisations {
			projects := d.Organisations[i].Projects
			for j := range projects {
				done, err := importProject(cmd, &node, path, d, i, j, len(all) > 0)
				if err != nil {
					err = fmt.Errorf("project %q: %w", projects[j].Name, err)
					if len(all) == 0 {
						return err
					}
					steps.end()
					return errors.Join(tell(), fmt.Errorf("%w\n%d of %d projects were imported before. To go on, take what is there out of the file: it would be refused",
						err, len(all), projectsIn(d)))
				}
				all = append(all, done...)
				steps.step()
			}
		}
		steps.end()
		return tell()
	}
	return cmd
}

// importProject sends one project of a document: each fits the size of a request better than all. One that is not the first is sent again for a while
// when no node answers for it, so that a change of leaders does not leave a part of the document out.
func importProject(cmd *cobra.Command, node *remote, path string, d *portable.Document, organisation, project int, again bool) ([]portable.Imported, error) {
	one, o := *d, d.Organisations[organisation]
	o.Projects = o.Projects[project : project+1]
	one.Organisations = []portable.Organisation{o}
	var done struct{ Projects []portable.Imported }
	tries := 0
	send := func() error { tries++; return node.call(cmd.Context(), "POST", path, one, &done) }
	var err error
	if again {
		err = insist(cmd.Context(), cmd.ErrOrStderr(), send)
	} else {
		err = send()
	}
	var no *refused
	if tries > 1 && errors.As(err, &no) && no.status == http.StatusBadRequest {
		err = fmt.Errorf("it was sent again, as no node had answered for it; a project of its name that is there now is most likely this one: %w", err)
	}
	return done.Projects, err
}

func projectsIn(d *portable.Document) (n int) {
	for i := range d.Organisations {
		n += len(d.Organisations[i].Projects)
	}
	return n
}

// printImported tells what became of projects.
func printImported(w io.Writer, projects []portable.Imported) error {
	for _, p := range projects {
		var keys []string
		for _, e := range p.Environments {
			key := e.Name + " " + e.APIKey
			if e.NewKey {
				key += " (a new key: the document's is taken)"
			}
			keys = append(keys, key)
		}
		if _, err := fmt.Fprintf(w, "project %q: id %d, %d features, %d segments, %d identities; environments: %s\n",
			p.Name, p.Project, p.Features, p.Segments, p.Identities, strings.Join(keys, ", ")); err != nil {
			return err
		}
	}
	return nil
}
