package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"time"

	"github.com/flagraft/flagraft/server"
)

// expirySoon is the rest of a certificate's life in which it should be replaced.
const expirySoon = 14 * 24 * time.Hour

func (p *patient) checkCertificates(context.Context) {
	st := p.settings
	if st.TLSCert == "" && st.TLSKey == "" {
		p.found("API certificate", Skipped, "", "the API speaks plain HTTP: --tls-cert")
	} else if pair, err := tls.LoadX509KeyPair(st.TLSCert, st.TLSKey); err != nil {
		p.found("API certificate", Problem, "--tls-cert and --tls-key must name a certificate and its key in PEM.", "%v", err)
	} else {
		p.checkExpiry("API certificate", pair.Leaf)
		p.checkNames(pair.Leaf)
	}
	files := server.ClusterTLS(st)
	if st.ClusterCA == "" && st.ClusterCert == "" && st.ClusterKey == "" {
		p.found("cluster certificate", Skipped, "", "the cluster port has no certificates: --cluster-ca")
		return
	}
	// Everything a node checks of its own certificate at start, its name for the cluster included.
	if _, err := files.DialTLS(st.ClusterName); err != nil {
		p.found("cluster certificate", Problem, "Make one for this cluster: flagraft ca issue; flagraft ca show tells what is in the files.", "%v", err)
		return
	}
	if pair, err := tls.LoadX509KeyPair(st.ClusterCert, st.ClusterKey); err == nil {
		p.checkExpiry("cluster certificate", pair.Leaf)
	}
}

func (p *patient) checkExpiry(check string, c *x509.Certificate) {
	const advice = "Put a new one into the same files (flagraft ca renew): it is used without a restart."
	left := time.Until(c.NotAfter)
	until := c.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case time.Now().Before(c.NotBefore):
		p.found(check, Problem, "Is this machine's clock right?", "it is valid from %s only", c.NotBefore.UTC().Format(time.RFC3339))
	case left < 0:
		p.found(check, Problem, advice, "it expired on %s", until)
	case left < expirySoon:
		p.found(check, Warning, advice, "it expires on %s", until)
	default:
		p.found(check, OK, "", "valid until %s", until)
	}
}

// checkNames compares the API's certificate with the names that people use.
func (p *patient) checkNames(c *x509.Certificate) {
	var hosts []string
	if u, err := url.Parse(p.settings.PublicURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(p.settings.AdvertiseAPI); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	for _, host := range hosts {
		if err := c.VerifyHostname(host); err != nil {
			p.found("API certificate", Warning, "Clients that use this name refuse it: flagraft ca issue --api --host NAME, or correct --public-url and --advertise-api.", "%v", err)
		}
	}
}
