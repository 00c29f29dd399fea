package server

import (
	"errors"
	"fmt"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/tracing"
)

// CheckSettings reports why a node would not start with settings, as far as the settings alone tell.
func CheckSettings(st *settings.Settings) error {
	_, proxies := parseProxies(st.TrustedProxies)
	_, traces := tracing.Wanted()
	return errors.Join(proxies, traces, checkIdentities(st), cluster.Config{
		ClusterAddr: st.ClusterAddr, GossipAddr: st.GossipAddr, Secret: st.ClusterSecret, ClusterName: st.ClusterName, TLS: ClusterTLS(st),
	}.Check())
}

func checkIdentities(st *settings.Settings) error {
	if st.MaxIdentities > identity.MaxIdentities {
		return fmt.Errorf("--max-identities is %d, and an environment has room for %d", st.MaxIdentities, identity.MaxIdentities)
	}
	return nil
}

// ClusterTLS are the files of the cluster port's certificates.
func ClusterTLS(st *settings.Settings) cluster.TLS {
	return cluster.TLS{CA: st.ClusterCA, Cert: st.ClusterCert, Key: st.ClusterKey}
}
