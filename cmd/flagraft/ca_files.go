package main

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flagraft/flagraft/cluster/certs"
)

// certFiles are the places of a certificate and its key.
type certFiles struct{ cert, key string }

func filesOf(dir, name string) certFiles {
	return certFiles{filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")}
}

// read reads both. A certificate that is for another key is an error.
func (f certFiles) read() (certs.Pair, error) {
	c, err := readCertificates(f.cert)
	if err != nil {
		return certs.Pair{}, err
	}
	p := certs.Pair{Certificate: c[0]}
	raw, err := os.ReadFile(f.key)
	if err != nil {
		return p, &codedError{exitUsage, err}
	}
	if p.Key, err = certs.ParseKey(raw); err != nil {
		return p, fmt.Errorf("%s: %w", f.key, err)
	}
	public, ok := p.Key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok || !public.Equal(p.Certificate.PublicKey) {
		return p, fmt.Errorf("%s is not the key of %s", f.key, f.cert)
	}
	return p, nil
}

func readCertificates(path string) ([]*x509.Certificate, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	list, err := certs.ParseCertificates(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// make writes both and says so.
func (f certFiles) make(w io.Writer, p certs.Pair, force bool) error {
	if err := f.write(p, force); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "made %s and %s, valid until %s\n", f.cert, f.key, p.Certificate.NotAfter.Format(time.DateOnly))
	return err
}

// write puts both in place, the key first: readable by its owner alone, and never over another one without force.
func (f certFiles) write(p certs.Pair, force bool) error {
	if err := os.MkdirAll(filepath.Dir(f.key), 0o700); err != nil {
		return &codedError{exitUsage, err}
	}
	text, err := p.KeyPEM()
	if err != nil {
		return err
	}
	if err := placeFile(f.key, text, 0o600, force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("the key %s exists: it is replaced with --force only", f.key)
		}
		return err
	}
	return f.writeCertificate(p)
}

func (f certFiles) writeCertificate(p certs.Pair) error {
	return placeFile(f.cert, p.CertificatePEM(), 0o644, true)
}

// placeFile makes a file whole or not at all. Without replace an existing one is fs.ErrExist.
func placeFile(path string, text []byte, mode fs.FileMode, replace bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return &codedError{exitUsage, err}
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it is gone when all went well
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	switch {
	case err != nil:
		return err
	case replace:
		return os.Rename(tmp.Name(), path)
	}
	return os.Link(tmp.Name(), path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// certNames are the names and addresses a certificate is for.
func certNames(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
