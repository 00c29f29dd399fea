package mail

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	gomail "github.com/wneessen/go-mail"
)

// The ways to protect the connection to an SMTP server.
const (
	StartTLS = "starttls" // required: a server without it gets nothing
	TLS      = "tls"      // from the first byte
	Plain    = "none"     // for a server on the same machine
)

// SMTP sends through a server.
type SMTP struct {
	host       string
	options    []gomail.Option
	protection string
}

// NewSMTP describes the server at addr, "host:port". Without a user it is not signed in to.
func NewSMTP(addr, user, password, protection string) (*SMTP, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address of the mail server: %w", err)
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return nil, fmt.Errorf("address of the mail server: port %q", p)
	}
	s := &SMTP{host: host, protection: protection}
	s.options = []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(sendTimeout), gomail.WithTLSPolicy(gomail.TLSMandatory)}
	switch protection {
	case TLS:
		s.options = append(s.options, gomail.WithSSL())
	case Plain:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if user != "" {
		s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(user), gomail.WithPassword(password))
	}
	if _, err := gomail.NewClient(host, s.options...); err != nil {
		return nil, fmt.Errorf("mail server %s: %w", addr, err)
	}
	return s, nil
}

// Deliver implements [Delivery].
func (s *SMTP) Deliver(ctx context.Context, m *gomail.Msg) error {
	options := s.options
	if s.protection != TLS {
		var conn net.Conn
		defer func() {
			if conn != nil {
				_ = conn.Close() // the library leaves it open when STARTTLS or the sign-in fails
			}
		}()
		options = append(slices.Clone(options), gomail.WithDialContextFunc(func(ctx context.Context, network, addr string) (c net.Conn, err error) {
			conn, err = new(net.Dialer).DialContext(ctx, network, addr)
			return conn, err
		}))
	}
	client, err := gomail.NewClient(s.host, options...)
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, m); err != nil && !m.IsDelivered() { // else only the goodbye failed
		return err
	}
	return nil
}
