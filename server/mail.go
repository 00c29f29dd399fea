package server

import (
	"cmp"
	"path/filepath"

	"github.com/flagraft/flagraft/server/mail"
	"github.com/flagraft/flagraft/server/settings"
)

// startMailer starts what sends mails: through the SMTP server of the settings, else into files in the data directory.
func (n *Node) startMailer() (err error) {
	delivery, err := mailDelivery(n.settings)
	if err != nil {
		return err
	}
	n.mailer, err = mail.Start(n.settings.MailFrom, delivery, n.log)
	return err
}

func mailDelivery(st *settings.Settings) (mail.Delivery, error) {
	if st.SMTPAddr == "" {
		return mail.Directory(filepath.Join(st.DataDir, "mail")), nil
	}
	return mail.NewSMTP(st.SMTPAddr, st.SMTPUser, st.SMTPPassword, st.SMTPProtection)
}

// siteURL is where links in mails point. It comes from the settings only: a request's Host header is the sender's word.
func (n *Node) siteURL() string {
	return cmp.Or(n.settings.FrontendURL, n.settings.PublicURL, n.originOf(cmp.Or(n.settings.AdvertiseAPI, n.settings.APIAddr), "127.0.0.1"))
}
