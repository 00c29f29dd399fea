package admin

import "strings"

// Mailer takes plain-text mails: package mail. Queue returns at once; what becomes of the mail is only logged.
type Mailer interface {
	Queue(to, subject, body string)
}

type mailed struct{ to, subject, body string }

// Mail adds a mail to the write. It goes off once the write is committed, and never when it fails or is a repetition. It is for the
// function inside the transaction, not for before steps and reads.
func (c *Ctx) Mail(to, subject, body string) { c.mails = append(c.mails, mailed{to, subject, body}) }

// sendMails hands the mails of a committed write to the mailer.
func (c *Ctx) sendMails() {
	for _, m := range c.mails {
		c.Env.Mailer.Queue(m.to, m.subject, m.body)
	}
}

// Link is the address of a page of the front end, such as "invite/" + hash.
func (e *Env) Link(path string) string { return strings.TrimSuffix(e.SiteURL, "/") + "/" + path }
