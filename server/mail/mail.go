// Package mail sends mails: through an SMTP server or, on an installation that names none, into files that its operator can read.
//
// Mails hold links that open accounts. Only the recipient and the subject of one are ever logged.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/flagraft/flagraft/cluster/actor"
)

const (
	// waiting is how many mails may wait; more are dropped, and logged.
	waiting = 1000
	// attempts is how often a mail is tried when the fault looks temporary.
	attempts = 4
	// firstPause is the time between the first two attempts; each further one is four times as long.
	firstPause = 2 * time.Second
	// sendTimeout bounds one attempt.
	sendTimeout = 20 * time.Second
	// parting is the time that mails which wait get when the node stops.
	parting = 5 * time.Second
)

// Delivery takes a finished message to where it goes: [SMTP] or [Directory].
type Delivery interface {
	Deliver(ctx context.Context, m *gomail.Msg) error
}

// Mailer is an actor that sends mails one after the other. When its mailbox is full, or its node stops, mails are dropped and logged: who
// misses one asks again.
type Mailer struct {
	from     string
	delivery Delivery
	log      *slog.Logger
	box      *actor.Actor[message]
	ctx      context.Context // ends when the node stops: no more pauses
	stop     context.CancelFunc
	pause    time.Duration
}

type message struct{ to, subject, body string }

// Start makes a mailer. from is the sender, "Name <address>" or an address.
func Start(from string, d Delivery, log *slog.Logger) (*Mailer, error) {
	if err := CheckSender(from); err != nil {
		return nil, err
	}
	m := &Mailer{from: from, delivery: d, log: log, pause: firstPause}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.box = actor.Start(waiting, m.handle)
	return m, nil
}

// CheckSender reports why mails could not be sent from an address.
func CheckSender(from string) error {
	if err := gomail.NewMsg().From(from); err != nil {
		return fmt.Errorf("sender of mails %q: %w", from, err)
	}
	return nil
}

// Queue takes a plain-text mail and returns at once.
func (m *Mailer) Queue(to, subject, body string) {
	if err := m.box.TryTell(message{to, subject, body}); err != nil {
		m.log.Error("mail dropped", "to", to, "subject", subject, "error", err)
	}
}

// Stop sends what waits, each mail once and all within a few seconds, and ends the actor.
func (m *Mailer) Stop() {
	timer := time.AfterFunc(parting, m.stop)
	defer timer.Stop()
	m.box.Stop()
	m.stop()
}

func (m *Mailer) handle(msg message) {
	if err := m.send(msg); err != nil {
		m.log.Error("mail not sent", "to", msg.to, "subject", msg.subject, "error", err)
		return
	}
	m.log.Info("mail sent", "to", msg.to, "subject", msg.subject)
}

// send tries until the mail is off, the fault is final, or there is no time left.
func (m *Mailer) send(msg message) error {
	built, err := m.build(msg)
	if err != nil {
		return err
	}
	pause := m.pause
	for attempt := 1; ; attempt++ {
		err := m.try(built)
		if err == nil || attempt == attempts || !temporary(err) {
			return err
		}
		m.log.Warn("mail is tried again", "to", msg.to, "subject", msg.subject, "error", err, "in", pause)
		select {
		case <-time.After(pause):
		case <-m.ctx.Done():
			return err
		}
		pause *= 4
	}
}

func (m *Mailer) try(built *gomail.Msg) error {
	ctx, cancel := context.WithTimeout(m.ctx, sendTimeout)
	defer cancel()
	return m.delivery.Deliver(ctx, built)
}

// build makes the message; addresses are parsed, so that neither they nor the subject can add a header.
func (m *Mailer) build(msg message) (*gomail.Msg, error) {
	built := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(built.From(m.from), built.To(msg.to)); err != nil {
		return nil, err
	}
	built.Subject(strings.Join(strings.Fields(msg.subject), " "))
	built.SetDate()
	built.SetMessageID()
	built.SetBodyString(gomail.TypeTextPlain, msg.body)
	return built, nil
}

// temporary: the server says so, or it was not reached at all.
func temporary(err error) bool {
	var refused *gomail.SendError
	return !errors.As(err, &refused) || refused.IsTemp()
}
