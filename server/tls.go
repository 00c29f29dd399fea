package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/cluster/certs"
	"github.com/flagraft/flagraft/server/sdk"
	"github.com/flagraft/flagraft/server/settings"
)

// certificatesEvery is the period of looking for changed certificate files.
const certificatesEvery = 5 * time.Second

// apiTLS is the TLS of the API port: a certificate that follows its files.
// Open connections stay as they are. A nil *apiTLS is a plain port.
type apiTLS struct {
	log    *slog.Logger
	watch  *certs.Watch // owned by load's caller: openAPITLS, then the loop
	min    uint16
	now    atomic.Pointer[tls.Certificate]
	reload actor.Signal
	loop   *actor.Loop
}

func openAPITLS(st *settings.Settings, log *slog.Logger) (*apiTLS, error) {
	if st.TLSCert == "" && st.TLSKey == "" {
		return nil, nil
	}
	if err := checkTLS(st); err != nil {
		return nil, err
	}
	t := &apiTLS{log: log, watch: certs.NewWatch(st.TLSCert, st.TLSKey), min: tls.VersionTLS12, reload: actor.NewSignal()}
	if st.TLSMinVersion == "1.3" {
		t.min = tls.VersionTLS13
	}
	if _, err := t.load(); err != nil {
		return nil, fmt.Errorf("api: TLS: %w", err)
	}
	return t, nil
}

// follow begins to look for changes of the files.
func (t *apiTLS) follow() {
	if t != nil {
		t.loop = actor.Go(t.run)
	}
}

func (t *apiTLS) load() (changed bool, err error) {
	contents, changed, err := t.watch.Read()
	if err != nil || !changed {
		return false, err
	}
	c, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return false, fmt.Errorf("certificate and key: %w", err)
	}
	t.now.Store(&c)
	return true, nil
}

func (t *apiTLS) run(ctx context.Context) {
	tick := time.NewTicker(certificatesEvery)
	defer tick.Stop()
	failed := ""
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.reload.C():
			asked = true
		}
		changed, err := t.load()
		switch {
		case err != nil:
			if text := err.Error(); asked || text != failed {
				t.log.Error("the API's certificate stays as it is", "error", err)
				failed = text
			}
			t.watch = certs.NewWatch(t.watch.Paths()...) // files are written one after the other: it is tried again
		case changed || asked:
			failed = ""
			leaf := t.now.Load().Leaf
			t.log.Info("the API's certificate", "changed", changed, "serial", leaf.SerialNumber.Text(16), "expires", leaf.NotAfter)
		}
	}
}

// listener puts TLS around what l accepts.
func (t *apiTLS) listener(l net.Listener) net.Listener {
	if t == nil {
		return l
	}
	return tls.NewListener(sdk.StreamListener(l), &tls.Config{
		MinVersion: t.min, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.now.Load(), nil },
	})
}

func (t *apiTLS) stop() {
	if t != nil {
		t.loop.Stop()
	}
}

// expiry is when the certificate ends; zero without one.
func (t *apiTLS) expiry() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.now.Load().Leaf.NotAfter
}
