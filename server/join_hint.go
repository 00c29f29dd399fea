package server

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"github.com/flagraft/flagraft/cluster"
)

// joinHint is the body of POST /join on the management port.
type joinHint struct {
	Addresses []string `json:"addresses"` // cluster addresses of other nodes
}

// The bounds of a hint.
const (
	maxHintBytes     = 16 << 10
	maxHintAddresses = 64
)

// join tells a node that is in no cluster yet which addresses to ask. Such a node has no users, so that is the management port's; being let
// into the cluster needs the cluster secret or certificate all the same.
func (m *management) join(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" { // no browser sends that unasked
		hintAnswer(w, http.StatusUnsupportedMediaType, "The body must be application/json.")
		return
	}
	var in joinHint
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxHintBytes)).Decode(&in)
	var refused *cluster.Error
	switch {
	case err != nil || len(in.Addresses) == 0 || len(in.Addresses) > maxHintAddresses:
		hintAnswer(w, http.StatusBadRequest, `The body must be {"addresses": ["host:port", …]}.`)
	case !m.node.running.Load():
		w.Header().Set("Retry-After", "1")
		hintAnswer(w, http.StatusServiceUnavailable, "The node is starting.")
	default:
		err := m.node.cluster.JoinVia(in.Addresses)
		if errors.As(err, &refused) {
			hintAnswer(w, http.StatusConflict, refused.Text)
			return
		}
		m.node.log.Info("told where to join", "addresses", in.Addresses)
		w.WriteHeader(http.StatusAccepted)
	}
}

func hintAnswer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"detail": text}) // a client that went away is no fault of ours
}
