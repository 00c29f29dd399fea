package server

import (
	"errors"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/tracing"
)

// CheckSettings reports why a node would not start with settings, as far as the settings alone tell.
func CheckSettings(st *settings.Settings) error {
	_, proxies := parseProxies(st.TrustedProxies)
	_, traces := tracing.Wanted()
	return errors.Join(proxies, traces, cluster.Config{
		ClusterAddr: st.ClusterAddr, GossipAddr: st.GossipAddr, Secret: st.ClusterSecret, ClusterName: st.ClusterName, TLS: ClusterTLS(st),
	}.Check())
}

// ClusterTLS are the files of the cluster port's certificates.
func ClusterTLS(st *settings.Settings) cluster.TLS {
	return cluster.TLS{CA: st.ClusterCA, Cert: st.ClusterCert, Key: st.ClusterKey}
}
