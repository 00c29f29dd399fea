// Package certs makes and reads the certificates of a cluster: an authority
// of its own, and for each node a certificate that names the cluster.
//
// Keys are ECDSA P-256, files PEM. Whoever has a certificate with the name
// NodeName(cluster) of a trusted authority is a node of that cluster; a
// certificate for the API has only the names that clients use.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"regexp"
	"strings"
	"time"
)

// The lifetimes of new certificates.
const (
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	NodeLifetime      = 365 * 24 * time.Hour
	// backdate lets hosts whose clocks are a little behind use a certificate at once.
	backdate = 5 * time.Minute
)

var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName tells whether a text can be the name of a cluster: a label of a domain name of at most 40 characters.
func CheckName(cluster string) error {
	if !clusterName.MatchString(cluster) {
		return fmt.Errorf("cluster name %q: use at most 40 lower-case letters, digits and hyphens", cluster)
	}
	return nil
}

// NodeName is the DNS name in the certificate of every node of a cluster.
func NodeName(cluster string) string { return "node." + cluster + ".flagraft.internal" }

// ClusterOf is the inverse of NodeName.
func ClusterOf(name string) (cluster string, ok bool) {
	rest, ok1 := strings.CutPrefix(name, "node.")
	cluster, ok2 := strings.CutSuffix(rest, ".flagraft.internal")
	return cluster, ok1 && ok2
}

// Pair is a certificate with its key.
type Pair struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// CertificatePEM is the certificate's file.
func (a Pair) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})
}

// KeyPEM is the key's file (PKCS #8).
func (a Pair) KeyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(a.Key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// NewKey makes a key.
func NewKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// NewAuthority makes the authority of a cluster, valid from now on for a time.
func NewAuthority(cluster string, now time.Time, lifetime time.Duration) (Pair, error) {
	if err := CheckName(cluster); err != nil {
		return Pair{}, err
	}
	key, err := NewKey()
	if err != nil {
		return Pair{}, err
	}
	serial := newSerial()
	template := &x509.Certificate{
		SerialNumber: serial,
		// The serial makes the names of two authorities of a cluster differ.
		Subject:   pkix.Name{CommonName: fmt.Sprintf("flagraft %s authority %.8s", cluster, serial.Text(16))},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	return sign(template, Pair{Certificate: template, Key: key}, key)
}

// Request says what a certificate is for.
type Request struct {
	// Cluster is the cluster whose nodes may use it; empty: none, it is for the API.
	Cluster string
	// Name is what people call the holder.
	Name string
	// Hosts are further DNS names and IP addresses.
	Hosts    []string
	Lifetime time.Duration
	// Key is the holder's; nil makes a new one.
	Key crypto.Signer
}

// Issue makes a certificate that the authority vouches for. It never outlives the authority.
func (a Pair) Issue(r Request, now time.Time) (Pair, error) {
	if !a.Certificate.IsCA {
		return Pair{}, errors.New("this certificate is not an authority's")
	}
	if a.Certificate.NotAfter.Before(now) {
		return Pair{}, fmt.Errorf("the authority expired on %s", a.Certificate.NotAfter.Format(time.DateOnly))
	}
	end := now.Add(r.Lifetime)
	if end.After(a.Certificate.NotAfter) {
		end = a.Certificate.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: r.Name}, NotBefore: now.Add(-backdate), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if r.Cluster != "" {
		if err := CheckName(r.Cluster); err != nil {
			return Pair{}, err
		}
		template.DNSNames = append(template.DNSNames, NodeName(r.Cluster))
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	for _, h := range r.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	key := r.Key
	if key == nil {
		var err error
		if key, err = NewKey(); err != nil {
			return Pair{}, err
		}
	}
	return sign(template, a, key)
}

func sign(template *x509.Certificate, parent Pair, key crypto.Signer) (Pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Certificate, key.Public(), parent.Key)
	if err != nil {
		return Pair{}, fmt.Errorf("make certificate: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	return Pair{Certificate: c, Key: key}, err
}

func newSerial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b)            // never fails
	b[0] = b[0]&0x7f | 0x40 // positive, and always 16 bytes
	return new(big.Int).SetBytes(b)
}

// ParseCertificates reads all certificates of a PEM file.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return list, nil
}

// ParseKey reads a private key in PEM form (PKCS #8, or SEC 1 as older tools write it). Errors never show the text.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no key in PEM form")
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a private key in PKCS #8 form")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("not a key that signs")
	}
	return signer, nil
}
