package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/mail"
	"github.com/flagraft/flagraft/server/settings"
	"github.com/flagraft/flagraft/server/tracing"
)

// CheckSettings reports why a node would not start with settings, as far as the settings alone tell.
func CheckSettings(st *settings.Settings) error {
	_, proxies := parseProxies(st.TrustedProxies)
	_, traces := tracing.Wanted()
	return errors.Join(checkPlaces(st), proxies, traces, checkIdentities(st), checkMail(st), checkTLS(st), checkURLs(st), checkAPI(st), checkApart(st), cluster.Config{
		ClusterAddr: st.ClusterAddr, GossipAddr: st.GossipAddr, AdvertiseCluster: st.AdvertiseCluster, AdvertiseGossip: st.AdvertiseGossip, Secret: st.ClusterSecret, ClusterName: st.ClusterName, TLS: ClusterTLS(st),
	}.Check())
}

// checkPlaces refuses empty places, as a variable that a template left without a value gives them: for the API it would be any free port.
func checkPlaces(st *settings.Settings) error {
	var faults []error
	for _, place := range [][2]string{{"data-dir", st.DataDir}, {"api-addr", st.APIAddr}, {"cluster-addr", st.ClusterAddr}} {
		if place[1] == "" {
			faults = append(faults, fmt.Errorf("--%s is empty", place[0]))
		}
	}
	return errors.Join(faults...)
}

// checkURLs refuses what no link can begin with, such as a bare host: mails and the sign-in of programs would lead nowhere.
func checkURLs(st *settings.Settings) error {
	var faults []error
	for _, place := range [][2]string{{"public-url", st.PublicURL}, {"frontend-url", st.FrontendURL}} {
		if place[1] == "" {
			continue
		}
		if u, err := url.Parse(place[1]); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			faults = append(faults, fmt.Errorf("--%s is %q, which is no address such as https://flags.example.com", place[0], place[1]))
		}
	}
	return errors.Join(faults...)
}

// checkAPI refuses a URL, or a host without a port, as the advertised API: links begin with http:// and it, and other nodes' clients would be told no place at all.
func checkAPI(st *settings.Settings) error {
	if st.AdvertiseAPI == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(st.AdvertiseAPI)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || strings.ContainsAny(host, "/ ") {
		return fmt.Errorf("--advertise-api is %q, which is no host:port such as flags-1.example.com:8000; for links in mails there is --public-url", st.AdvertiseAPI)
	}
	return nil
}

// checkApart refuses one place for two ports: the one that comes later would find it taken when the node has joined.
func checkApart(st *settings.Settings) error {
	places := [][2]string{{"api-addr", st.APIAddr}, {"cluster-addr", st.ClusterAddr}, {"gossip-addr", st.GossipAddr}, {"management-addr", st.ManagementAddr}}
	var faults []error
	for i, one := range places {
		for _, other := range places[:i] {
			if samePlace(one[1], other[1]) {
				faults = append(faults, fmt.Errorf("--%s and --%s are the same address, %s", other[0], one[0], one[1]))
			}
		}
	}
	return errors.Join(faults...)
}

// samePlace reports whether only one of two listeners can have its address.
func samePlace(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" || portA == "" {
		return false
	}
	covers := func(wide, host string) bool {
		switch wide {
		case "", "::":
			return true
		case "0.0.0.0":
			return host == "localhost" || net.ParseIP(host).To4() != nil
		}
		return wide == host
	}
	return covers(hostA, hostB) || covers(hostB, hostA)
}

func checkIdentities(st *settings.Settings) error {
	if st.MaxIdentities > identity.MaxIdentities {
		return fmt.Errorf("--max-identities is %d, and an environment has room for %d", st.MaxIdentities, identity.MaxIdentities)
	}
	if most := identity.DefaultLimits().TraitBytes; st.MaxTraitBytes > most {
		return fmt.Errorf("--max-trait-bytes is %d, and an identity has room for %d", st.MaxTraitBytes, most)
	}
	return nil
}

func checkMail(st *settings.Settings) error {
	_, err := mailDelivery(st)
	return errors.Join(err, mail.CheckSender(st.MailFrom))
}

func checkTLS(st *settings.Settings) error {
	if (st.TLSCert == "") != (st.TLSKey == "") {
		return errors.New("api: TLS needs both --tls-cert and --tls-key")
	}
	return nil
}

// ClusterTLS are the files of the cluster port's certificates.
func ClusterTLS(st *settings.Settings) cluster.TLS {
	return cluster.TLS{CA: st.ClusterCA, Cert: st.ClusterCert, Key: st.ClusterKey}
}

// checkPlace reports what the machine lacks for serving with settings: usable files of certificates and free ports. A node that found out when it
// has joined would form a cluster, or lead one, and leave it again with each attempt. The cluster's port and files come before joining anyway.
func checkPlace(st *settings.Settings) error {
	if _, err := openAPITLS(st, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := tryPort(st.APIAddr); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if st.GossipAddr == "" {
		return nil
	}
	if err := tryPort(st.GossipAddr); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	return nil
}

// tryPort listens for a moment: nobody is to be kept waiting on the port until the log is replayed.
func tryPort(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return l.Close()
}
