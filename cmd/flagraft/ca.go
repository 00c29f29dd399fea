package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagraft/flagraft/cluster/certs"
)

// caCommand is what the subcommands of ca share.
type caCommand struct {
	dir, out, cluster string
	hosts             []string
	days              int
	force, api        bool
	newKey            bool
	format            outputFormat
}

const authorityName = "ca"

func newCACommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "ca",
		Short: "Make the certificates of a cluster",
		Long: "Make an authority and, for each node, a certificate with which it proves that it belongs to the cluster.\n" +
			"Keep ca.key off the nodes: whoever has it can make nodes. Nodes get ca.crt and their own two files.",
		Example: "  flagraft ca init --dir ca\n" +
			"  flagraft ca issue node-1 --dir ca --out certs\n" +
			"  flagraft serve --cluster-ca ca/ca.crt --cluster-cert certs/node-1.crt --cluster-key certs/node-1.key",
	})
	cmd.AddCommand(newCAInitCommand(), newCAIssueCommand(), newCARenewCommand(), newCAShowCommand())
	return cmd
}

func (o *caCommand) register(cmd *cobra.Command, life time.Duration) {
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "ca", "directory of the authority: ca.crt and ca.key")
	f.IntVar(&o.days, "days", int(life/(24*time.Hour)), "days for which the certificate is valid")
}

func (o *caCommand) lifetime() (time.Duration, error) {
	if o.days < 1 || o.days > 100*366 {
		return 0, usageError("--days must be from 1 to 36600")
	}
	return time.Duration(o.days) * 24 * time.Hour, nil
}

func newCAInitCommand() *cobra.Command {
	o := &caCommand{}
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Make an authority; one that is there is kept",
		Example: "  flagraft ca init --dir ca\n  flagraft ca init --dir ca --cluster-name staging",
		Args:    exactly(0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.init(cmd.OutOrStdout()) },
	}
	o.register(cmd, certs.AuthorityLifetime)
	cmd.Flags().StringVar(&o.cluster, "cluster-name", "flagraft", "name of the cluster, as people see it in the certificate")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an authority that is there: nodes with its certificates are locked out")
	return cmd
}

func (o *caCommand) init(w io.Writer) error {
	files := filesOf(o.dir, authorityName)
	life, err := o.lifetime()
	if err != nil {
		return err
	}
	if exists(files.cert) && exists(files.key) && !o.force {
		p, err := files.read()
		if err == nil {
			_, err = fmt.Fprintf(w, "kept %s, valid until %s\n", files.cert, p.Certificate.NotAfter.Format(time.DateOnly))
		}
		return err
	}
	p, err := certs.NewAuthority(o.cluster, time.Now(), life)
	if err != nil {
		return err
	}
	return files.make(w, p, o.force)
}

func newCAIssueCommand() *cobra.Command {
	o := &caCommand{}
	cmd := &cobra.Command{
		Use:   "issue NAME",
		Short: "Make the key and the certificate of a node (or, with --api, of the API); what is there and fits is kept",
		Example: "  flagraft ca issue node-1 --out certs\n" +
			"  flagraft ca issue api --api --host flags.example.com,10.0.0.5 --out certs",
		Args: exactly(1, "the name of a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.issue(cmd.OutOrStdout(), args[0]) },
	}
	o.register(cmd, certs.NodeLifetime)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", ".", "directory of NAME.crt and NAME.key")
	f.StringVar(&o.cluster, "cluster-name", "flagraft", "name of the cluster that the node belongs to")
	f.StringSliceVar(&o.hosts, "host", nil, "further DNS names and IP addresses")
	f.BoolVar(&o.api, "api", false, "for --tls-cert: not a node's certificate, only the names of --host")
	f.BoolVar(&o.force, "force", false, "replace a key that is there")
	return cmd
}

func (o *caCommand) issue(w io.Writer, name string) error {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return usageError("%q is no name of a file", name)
	}
	r := certs.Request{Cluster: o.cluster, Name: name, Hosts: o.hosts}
	if o.api {
		if r.Cluster = ""; len(o.hosts) == 0 {
			return usageError("--api needs --host: the names that clients use")
		}
	}
	authority, err := filesOf(o.dir, authorityName).read()
	if err != nil {
		return fmt.Errorf("the authority (flagraft ca init makes one): %w", err)
	}
	if r.Lifetime, err = o.lifetime(); err != nil {
		return err
	}
	files := filesOf(o.out, name)
	if exists(files.key) && exists(files.cert) && !o.force {
		p, err := files.read()
		if err != nil {
			return err
		}
		if fits(p, authority, r) {
			_, err = fmt.Fprintf(w, "kept %s, valid until %s\n", files.cert, p.Certificate.NotAfter.Format(time.DateOnly))
			return err
		}
		return fmt.Errorf("%s is for something else (other names or another authority, or expired): renew it, or use --force", files.cert)
	}
	p, err := authority.Issue(r, time.Now())
	if err != nil {
		return err
	}
	return files.make(w, p, o.force)
}

// fits tells whether a certificate is what would be issued.
func fits(p, authority certs.Pair, r certs.Request) bool {
	c := p.Certificate
	if c.CheckSignatureFrom(authority.Certificate) != nil || time.Now().After(c.NotAfter) {
		return false
	}
	want := namesOf(r)
	have := certNames(c)
	slices.Sort(want)
	slices.Sort(have)
	return slices.Equal(want, have)
}

func namesOf(r certs.Request) []string {
	names := slices.Clone(r.Hosts)
	if r.Cluster != "" {
		names = append(names, certs.NodeName(r.Cluster))
	}
	return names
}

func newCARenewCommand() *cobra.Command {
	o := &caCommand{}
	cmd := &cobra.Command{
		Use:   "renew NAME...",
		Short: "Make new certificates with the same names for the keys that are there",
		Long: "Make new certificates with the same names for the keys that are there. A node uses the new file by itself within seconds.\n" +
			"With another --dir the certificates come from that authority: so authorities are exchanged.",
		Example: "  flagraft ca renew node-1 node-2 node-3 --out certs\n  flagraft ca renew node-1 --out certs --new-key",
		Args:    atLeastOne("one file or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := o.renew(cmd.OutOrStdout(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.register(cmd, certs.NodeLifetime)
	cmd.Flags().StringVar(&o.out, "out", ".", "directory of NAME.crt and NAME.key")
	cmd.Flags().BoolVar(&o.newKey, "new-key", false, "replace the keys, too")
	return cmd
}

func (o *caCommand) renew(w io.Writer, name string) error {
	authority, err := filesOf(o.dir, authorityName).read()
	if err != nil {
		return fmt.Errorf("the authority: %w", err)
	}
	files := filesOf(o.out, name)
	old, err := files.read()
	if err != nil {
		return err
	}
	r := certs.Request{Name: old.Certificate.Subject.CommonName, Hosts: certNames(old.Certificate), Key: old.Key}
	r.Hosts = slices.DeleteFunc(r.Hosts, func(h string) bool {
		cluster, ok := certs.ClusterOf(h)
		if ok {
			r.Cluster = cluster
		}
		return ok
	})
	if r.Lifetime, err = o.lifetime(); err != nil {
		return err
	}
	if o.newKey {
		r.Key = nil
	}
	p, err := authority.Issue(r, time.Now())
	if err != nil {
		return err
	}
	if o.newKey {
		err = files.write(p, true)
	} else {
		err = files.writeCertificate(p)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "renewed %s, valid until %s\n", files.cert, p.Certificate.NotAfter.Format(time.DateOnly))
	}
	return err
}

func newCAShowCommand() *cobra.Command {
	o := &caCommand{}
	cmd := &cobra.Command{
		Use:     "show FILE...",
		Short:   "Tell what is in certificate files",
		Example: "  flagraft ca show ca/ca.crt certs/*.crt\n  flagraft ca show certs/node-1.crt -o json",
		Args:    atLeastOne("one file or more"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd.OutOrStdout(), args) },
	}
	o.format.register(cmd)
	return cmd
}

// shownCertificate is one certificate as ca show tells it.
type shownCertificate struct {
	File        string    `json:"file"`
	Name        string    `json:"name"`
	Authority   bool      `json:"authority"`
	Names       []string  `json:"names"`
	Issuer      string    `json:"issuer"`
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
	Serial      string    `json:"serial"`
	Fingerprint string    `json:"sha256"`
}

func (o *caCommand) show(w io.Writer, paths []string) error {
	var list []shownCertificate
	for _, path := range paths {
		found, err := readCertificates(path)
		if err != nil {
			return err
		}
		for _, c := range found {
			sum := sha256.Sum256(c.Raw)
			list = append(list, shownCertificate{File: path, Name: c.Subject.CommonName, Authority: c.IsCA, Names: certNames(c),
				Issuer: c.Issuer.CommonName, NotBefore: c.NotBefore, NotAfter: c.NotAfter, Serial: c.SerialNumber.Text(16), Fingerprint: hex.EncodeToString(sum[:])})
		}
	}
	if done, err := o.format.json(w, list); done {
		return err
	}
	return showTable(w, list)
}

func showTable(w io.Writer, list []shownCertificate) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "FILE\tNAME\tFOR\tISSUER\tEXPIRES\tDAYS LEFT") // Flush tells
	for _, c := range list {
		use := strings.Join(c.Names, ",")
		if c.Authority {
			use = "authority"
		}
		left := fmt.Sprint(int(time.Until(c.NotAfter).Hours() / 24))
		if time.Now().After(c.NotAfter) {
			left = "expired"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", c.File, c.Name, use, c.Issuer, c.NotAfter.Format(time.DateOnly), left) // as above
	}
	return t.Flush()
}
