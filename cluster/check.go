package cluster

import (
	"crypto/tls"
	"errors"

	"github.com/flagraft/flagraft/cluster/certs"
)

// Check reports what is wrong with the parts of a configuration that say who may be a member and where it is reached, as Start would.
func (c Config) Check() error {
	return errors.Join(certs.CheckName(c.clusterName()), c.TLS.check(), c.checkExposure(), c.checkAdvertised())
}

func (c Config) checkAdvertised() error {
	var faults []error
	for _, addr := range []string{c.AdvertiseCluster, c.AdvertiseGossip} {
		if _, _, err := advertised(addr, "0"); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// DiskSpace looks at the volume of a directory. minimum is the configured one, 0 for the default.
func DiskSpace(dir string, minimum uint64) (Space, error) {
	free, total, err := statSpace(dir)
	if minimum == 0 {
		minimum = defaultMinFree(total)
	}
	return Space{Free: free, Total: total, Min: minimum, Low: free < minimum}, err
}

// DialTLS is how a node with these certificates begins to talk to another one of the cluster.
func (t TLS) DialTLS(clusterName string) (*tls.Config, error) {
	w, err := openTLS(t, Config{ClusterName: clusterName}.clusterName(), nil)
	if err != nil || w == nil {
		return nil, err
	}
	return w.now.Load().client, nil
}
