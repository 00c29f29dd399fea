package cluster

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
)

// Every connection to the cluster port begins with a preface from the dialer,
//
//	magic "FRC1" | purpose | has secret (0, 1) | nonce (32) | id length | target length | node id | target id
//
// and a verdict byte from the listener. With a secret, the verdict is followed
// by the listener's nonce; then the dialer proves the secret, and only after
// that the listener does (so it is no oracle for strangers):
//
//	proof = HMAC-SHA256(key, role | purpose | dialer's nonce | listener's nonce | ids)
//
// Raft names the node it means. A node that lost its disk comes back under a
// new id, maybe at the old address; Raft's messages do not say whom they are
// for, and it would take the votes and the log of the node that it was.
//
// The proof authenticates who connects; it does not encrypt what follows. TLS
// (tls.go), if the node has certificates, goes around the connection before it.
const (
	prefaceMagic = "FRC1"
	nonceSize    = 32
	maxIDSize    = 255
	prefaceFixed = len(prefaceMagic) + 1 + 1 + nonceSize + 2
)

// Purposes of a connection.
const (
	purposeRaft byte = 1
	purposeCall byte = 2
)

// Verdicts of the listener.
const (
	verdictOK byte = iota
	verdictNeedSecret
	verdictNoSecret
	verdictRefused
	verdictOtherNode
	verdictNeedTLS
)

var (
	errHandshake = errors.New("cluster: handshake failed")
	errOtherNode = fmt.Errorf("%w: another node listens there now", errHandshake)
)

// tlsHello is the first byte of a peer that speaks TLS.
const tlsHello byte = 0x16

// secretKeys are derived from the cluster secret, one per use.
type secretKeys struct {
	connection []byte // nil without a secret
	gossip     []byte // AES-256
	ring       []byte // AES-256, around gossip keys on the wire
}

// deriveKeys makes the keys of a cluster. Its name is part of them, so that two
// clusters that share a secret stay apart.
func deriveKeys(secret, cluster string) (secretKeys, error) {
	if secret == "" {
		return secretKeys{}, nil
	}
	salt := "flagraft cluster"
	if cluster != defaultClusterName {
		salt += " " + cluster
	}
	derive := func(info string) ([]byte, error) {
		return hkdf.Key(sha256.New, []byte(secret), []byte(salt), info, 32)
	}
	connection, err := derive("connection")
	if err != nil {
		return secretKeys{}, err
	}
	gossip, err := derive("gossip")
	if err != nil {
		return secretKeys{}, err
	}
	ring, err := derive("gossip ring")
	return secretKeys{connection: connection, gossip: gossip, ring: ring}, err
}

type preface struct {
	purpose   byte
	hasSecret bool
	nonce     [nonceSize]byte
	nodeID    string // of the dialer
	target    string // whom the dialer means; "" = whoever listens
}

func (p preface) encode() []byte {
	out := make([]byte, 0, prefaceFixed+len(p.nodeID))
	out = append(out, prefaceMagic...)
	out = append(out, p.purpose, 0)
	if p.hasSecret {
		out[len(out)-1] = 1
	}
	out = append(out, p.nonce[:]...)
	out = append(out, byte(len(p.nodeID)), byte(len(p.target)))
	out = append(out, p.nodeID...)
	return append(out, p.target...)
}

func readPreface(r io.Reader) (preface, error) {
	var p preface
	var fixed [prefaceFixed]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return p, fmt.Errorf("%w: %w", errHandshake, err)
	}
	if fixed[0] == tlsHello {
		return p, fmt.Errorf("%w: the peer speaks TLS, this node has no certificate", errHandshake)
	}
	rest := fixed[len(prefaceMagic):]
	if string(fixed[:len(prefaceMagic)]) != prefaceMagic || rest[1] > 1 {
		return p, fmt.Errorf("%w: not a flagraft node", errHandshake)
	}
	p.purpose, p.hasSecret = rest[0], rest[1] == 1
	copy(p.nonce[:], rest[2:])
	idSize, targetSize := int(rest[2+nonceSize]), int(rest[3+nonceSize])
	ids := make([]byte, idSize+targetSize)
	if _, err := io.ReadFull(r, ids); err != nil {
		return p, fmt.Errorf("%w: %w", errHandshake, err)
	}
	p.nodeID, p.target = string(ids[:idSize]), string(ids[idSize:])
	if p.purpose != purposeRaft && p.purpose != purposeCall {
		return p, fmt.Errorf("%w: unknown purpose %d", errHandshake, p.purpose)
	}
	return p, nil
}

func (p preface) proof(key []byte, role string, listener []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(role))
	mac.Write([]byte{0, p.purpose})
	mac.Write(p.nonce[:])
	mac.Write(listener)
	mac.Write([]byte{byte(len(p.nodeID))})
	mac.Write([]byte(p.nodeID + p.target))
	return mac.Sum(nil)
}

// introduce is the dialer's side.
func introduce(c net.Conn, key []byte, purpose byte, nodeID, target string) error {
	p := preface{purpose: purpose, hasSecret: key != nil, nodeID: nodeID, target: target}
	if max(len(nodeID), len(target)) > maxIDSize {
		return fmt.Errorf("%w: node id too long", errHandshake)
	}
	rand.Read(p.nonce[:])
	if _, err := c.Write(p.encode()); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	if err := readVerdict(c); err != nil {
		return err
	}
	if key == nil {
		return nil
	}
	listener := make([]byte, nonceSize)
	if _, err := io.ReadFull(c, listener); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	if _, err := c.Write(p.proof(key, "dialer", listener)); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	if err := readVerdict(c); err != nil {
		return err
	}
	answer := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, answer); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	if !hmac.Equal(answer, p.proof(key, "listener", listener)) {
		return fmt.Errorf("%w: the peer does not know the cluster secret", errHandshake)
	}
	return nil
}

func readVerdict(r io.Reader) error {
	var verdict [1]byte
	if _, err := io.ReadFull(r, verdict[:]); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, plainer(err))
	}
	switch verdict[0] {
	case verdictOK:
		return nil
	case verdictNeedSecret:
		return fmt.Errorf("%w: the peer asks for a cluster secret, this node has none", errHandshake)
	case verdictNoSecret:
		return fmt.Errorf("%w: this node has a cluster secret, the peer has none", errHandshake)
	case verdictOtherNode:
		return errOtherNode
	case verdictNeedTLS:
		return fmt.Errorf("%w: the peer asks for TLS, this node has no certificate", errHandshake)
	default:
		return fmt.Errorf("%w: the peer refused this node's cluster secret", errHandshake)
	}
}

// admit is the listener's side.
func admit(c net.Conn, key []byte, self string) (preface, error) {
	p, err := readPreface(c)
	if err != nil {
		return p, err
	}
	verdict := verdictOK
	switch {
	case key != nil && !p.hasSecret:
		verdict = verdictNeedSecret
	case key == nil && p.hasSecret:
		verdict = verdictNoSecret
	case p.target != self && (p.target != "" || p.purpose == purposeRaft):
		verdict = verdictOtherNode
	}
	if verdict != verdictOK {
		_, _ = c.Write([]byte{verdict}) // refused either way
		return p, fmt.Errorf("%w: only one side has a cluster secret, or node %q was meant", errHandshake, p.target)
	}
	if key == nil {
		_, err := c.Write([]byte{verdictOK})
		return p, err
	}
	return p, demandProof(c, key, p)
}

func demandProof(c net.Conn, key []byte, p preface) error {
	listener := make([]byte, nonceSize)
	rand.Read(listener)
	if _, err := c.Write(append([]byte{verdictOK}, listener...)); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	claim := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, claim); err != nil {
		return fmt.Errorf("%w: %w", errHandshake, err)
	}
	if !hmac.Equal(claim, p.proof(key, "dialer", listener)) {
		_, _ = c.Write([]byte{verdictRefused}) // refused either way
		return fmt.Errorf("%w: wrong cluster secret", errHandshake)
	}
	_, err := c.Write(append([]byte{verdictOK}, p.proof(key, "listener", listener)...))
	return err
}
