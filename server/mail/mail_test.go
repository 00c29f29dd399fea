package mail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMailsBecomeFilesThatOnlyTheOwnerReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	var logged bytes.Buffer
	m, err := Start("flagraft <flagraft@localhost>", Directory(dir), slog.New(slog.NewTextHandler(&logged, nil)))
	require.NoError(t, err)
	m.Queue("ann@example.com", "Your\r\nBcc: eve@example.com link", "https://site/"+strings.Repeat("long/", 30)+"secret-token\n")
	m.Queue("no address", "x", "y")
	m.Stop()

	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.True(t, strings.HasSuffix(files[0].Name(), ".eml"))
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	raw, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	require.NoError(t, err)
	got, err := netmail.ReadMessage(bytes.NewReader(raw))
	require.NoError(t, err)
	require.Equal(t, "<ann@example.com>", got.Header.Get("To"))
	require.Empty(t, got.Header.Get("Bcc"))
	require.Equal(t, "Your Bcc: eve@example.com link", got.Header.Get("Subject"))
	require.Contains(t, string(raw), strings.Repeat("long/", 30)+"secret-token")

	require.Contains(t, logged.String(), "ann@example.com")
	require.Contains(t, logged.String(), `mail not sent`)
	require.NotContains(t, logged.String(), "secret-token")

	m.Queue("ann@example.com", "late", "")
	require.Contains(t, logged.String(), "mail dropped")
	_, err = Start("nobody", Directory(dir), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "nobody")
}

func TestOldFilesGo(t *testing.T) {
	d := Directory(t.TempDir())
	for i := range kept + 1 {
		require.NoError(t, os.WriteFile(filepath.Join(string(d), fmt.Sprintf("2000%05d.eml", i)), nil, 0o600))
	}
	require.NoError(t, d.Deliver(t.Context(), gomail.NewMsg()))
	files, err := os.ReadDir(string(d))
	require.NoError(t, err)
	require.Len(t, files, kept)
	require.Equal(t, "200000002.eml", files[0].Name())
}

// flaky fails so many times before it takes a mail.
type flaky struct {
	fails, tries int
	err          error
}

func (f *flaky) Deliver(context.Context, *gomail.Msg) error {
	f.tries++
	if f.tries <= f.fails {
		return f.err
	}
	return nil
}

func TestTemporaryFaultsAreTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		flaky
		tries int
	}{
		"the second time": {flaky{fails: 1, err: errors.New("connection refused")}, 2},
		"never":           {flaky{fails: 99, err: errors.New("connection refused")}, attempts},
		"final":           {flaky{fails: 99, err: &gomail.SendError{Reason: gomail.ErrSMTPRcptTo}}, 1},
	} {
		m, err := Start("a@example.com", &c.flaky, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		m.pause = time.Microsecond
		m.Queue("b@example.com", "s", "b")
		m.Stop()
		require.Equal(t, c.tries, c.flaky.tries, name)
	}
}

// smtpServer answers one client and gives what it was sent.
func smtpServer(t *testing.T) (addr string, sent <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := make(chan string, 1)
	go func() {
		defer close(out)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var all strings.Builder
		fmt.Fprint(conn, "220 test\r\n")
		data := false
		for in := bufio.NewScanner(conn); in.Scan(); {
			all.WriteString(in.Text() + "\n")
			switch {
			case data && in.Text() != ".":
				continue
			case data, !strings.HasPrefix(in.Text(), "DATA") && !strings.HasPrefix(in.Text(), "QUIT"):
				data = false
				fmt.Fprint(conn, "250 ok\r\n")
			case strings.HasPrefix(in.Text(), "DATA"):
				data = true
				fmt.Fprint(conn, "354 go\r\n")
			default:
				fmt.Fprint(conn, "221 bye\r\n")
			}
		}
		out <- all.String()
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), out
}

func TestSMTP(t *testing.T) {
	addr, sent := smtpServer(t)
	s, err := NewSMTP(addr, "", "", Plain)
	require.NoError(t, err)
	m, err := Start("Flags <flags@example.com>", s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	m.Queue("ann@example.com", "Hello", "how are you, "+strings.Repeat("x", 100))
	m.Stop()
	got := <-sent
	for _, want := range []string{"MAIL FROM:<flags@example.com>", "RCPT TO:<ann@example.com>", "Subject: Hello", "how are you", "quoted-printable"} {
		require.Contains(t, got, want)
	}
}

// A server without STARTTLS gets neither the mail nor the password when encryption is asked for.
func TestSMTPWithoutEncryptionGetsNothing(t *testing.T) {
	addr, sent := smtpServer(t)
	s, err := NewSMTP(addr, "user", "secret", StartTLS)
	require.NoError(t, err)
	msg := gomail.NewMsg()
	require.NoError(t, errors.Join(msg.From("a@example.com"), msg.To("b@example.com")))
	msg.SetBodyString(gomail.TypeTextPlain, "body")
	require.Error(t, s.Deliver(t.Context(), msg))
	got := <-sent
	require.NotContains(t, got, "MAIL FROM")
	require.NotContains(t, got, "AUTH")

	for _, addr := range []string{"host", "host:smtp"} {
		_, err := NewSMTP(addr, "", "", TLS)
		require.ErrorContains(t, err, "address of the mail server")
	}
}

// A mail that the server took is sent, however the server says goodbye.
func TestTakenMailsAreNotSentAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var taken atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "220 test\r\n")
			for in, data := bufio.NewScanner(conn), false; in.Scan(); {
				text := in.Text()
				if data && text != "." {
					continue
				}
				if data {
					data = false
					taken.Add(1)
				}
				if strings.HasPrefix(text, "QUIT") {
					break // hangs up
				}
				if strings.HasPrefix(text, "DATA") {
					data = true
					fmt.Fprint(conn, "354 go\r\n")
					continue
				}
				fmt.Fprint(conn, "250 ok\r\n")
			}
			_ = conn.Close()
		}
	}()
	s, err := NewSMTP(l.Addr().String(), "", "", Plain)
	require.NoError(t, err)
	var logged strings.Builder
	m, err := Start("Flags <flags@example.com>", s, slog.New(slog.NewTextHandler(&logged, nil)))
	require.NoError(t, err)
	m.pause = time.Millisecond
	m.Queue("ann@example.com", "Hello", "how are you")
	m.Stop()
	require.NoError(t, l.Close())
	<-done
	require.EqualValues(t, 1, taken.Load())
	require.Contains(t, logged.String(), "mail sent")
}
