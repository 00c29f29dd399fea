// Package webhook calls the addresses that webhooks name: one POST, signed, that goes nowhere but to public addresses.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
)

const (
	// SignatureHeader carries the HMAC of the body, when the webhook has a secret.
	SignatureHeader = "X-Flagsmith-Signature"
	// DeliveryHeader carries the number of the delivery: the same when it is repeated, larger for later ones of the webhook.
	DeliveryHeader = "Flagraft-Delivery"
	// MsgPrivate is why an address is refused.
	MsgPrivate = "URLs must not target internal or private network addresses."

	// maxAnswer is how much of an answer is read, so that the connection can be used again.
	maxAnswer = 64 << 10
	// lookupTimeout bounds the question for a name when a webhook is made. Connecting asks again.
	lookupTimeout = 2 * time.Second
)

// ErrPrivate is the error of an address that must not be called.
var ErrPrivate = errors.New(MsgPrivate)

// Sender makes the calls. It may be used by any number of goroutines.
type Sender struct {
	guard  *ssrf.Guardian // nil: every address may be called
	client *http.Client
	agent  string
}

// Call is one request to an address.
type Call struct {
	URL      string
	Secret   string
	Delivery uint64 // 0: none
	Body     []byte
}

// New makes a Sender. A call that takes longer than timeout, its answer included, has failed. With private, addresses within may be called.
func New(timeout time.Duration, private bool, version string) *Sender {
	dialer := &net.Dialer{Timeout: timeout}
	s := &Sender{agent: "flagraft/" + version}
	if !private {
		s.guard = ssrf.New(ssrf.WithAnyPort())
		dialer.Control = s.guard.Safe // sees the address that was resolved, each time
	}
	s.client = &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // without a proxy: it would be what is dialled
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true, MaxResponseHeaderBytes: maxAnswer,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: timeout,
		},
	}
	return s
}

// Send makes a call. It returns the status of the answer, or why there was none.
func (s *Sender) Send(ctx context.Context, c Call) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.agent)
	req.Header["Idempotency-Key"] = []string{} // is not sent: a connection that was closed while it rested is replaced
	if c.Secret != "" {
		req.Header.Set(SignatureHeader, Sign(c.Secret, c.Body))
	}
	if c.Delivery != 0 {
		req.Header.Set(DeliveryHeader, strconv.FormatUint(c.Delivery, 10))
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // the status is what counts
	return answer.StatusCode, nil
}

// Close lets idle connections go.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Sign is the signature of a body.
func Sign(secret string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Check returns [ErrPrivate] for a URL that leads to an address within. One whose name is not known is let pass: what counts is what it
// resolves to when it is called.
func (s *Sender) Check(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || s.guard == nil {
		return err
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return ErrPrivate
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if !s.public(a.Unmap()) {
			return ErrPrivate
		}
	}
	return nil
}

func (s *Sender) public(a netip.Addr) bool {
	network := "tcp6"
	if a.Is4() {
		network = "tcp4"
	}
	return s.guard.Safe(network, netip.AddrPortFrom(a.WithZone(""), 443).String(), nil) == nil
}

// Reason words an error of Send for those who look after the webhook: without the URL, which may hold credentials, and without what the
// machine's own network looks like.
func Reason(err error) string {
	var wrapped *url.Error
	var name *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return MsgPrivate
	case errors.As(err, &wrapped) && wrapped.Timeout():
		return "There was no answer in time."
	case errors.As(err, &name):
		return "The host name could not be resolved."
	case errors.As(err, &op) && op.Op == "dial":
		return "The connection could not be made: " + op.Err.Error()
	case errors.As(err, &wrapped):
		return wrapped.Err.Error()
	}
	return err.Error()
}
