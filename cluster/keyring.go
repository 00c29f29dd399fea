package cluster

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/memberlist"
)

const (
	keyringFileName = "gossip-keys.json"
	gossipKeySize   = 32 // AES-256
	maxGossipKeys   = 8
)

// gossipRing is the keys of gossip. The leader makes each edition; editions are
// ordered by its term, then by a count, so the newest of two is the same for
// everybody, and a node takes a newer one over whole.
type gossipRing struct {
	Term  uint64   `cbor:"1,keyasint" json:"term"` // 0: not made by a leader, but from the secret
	Count uint64   `cbor:"2,keyasint" json:"count"`
	Keys  [][]byte `cbor:"3,keyasint" json:"keys"` // the first encrypts, all decrypt
}

func (r gossipRing) newerThan(other gossipRing) bool {
	return r.Term > other.Term || (r.Term == other.Term && r.Count > other.Count)
}

func (r gossipRing) check() error {
	if len(r.Keys) == 0 || len(r.Keys) > maxGossipKeys {
		return fmt.Errorf("cluster: %d gossip keys", len(r.Keys))
	}
	for _, k := range r.Keys {
		if len(k) != gossipKeySize {
			return fmt.Errorf("cluster: a gossip key of %d bytes", len(k))
		}
	}
	return nil
}

func (r gossipRing) find(id string) int {
	return slices.IndexFunc(r.Keys, func(k []byte) bool { return keyID(k) == id })
}

// keyID names a key without telling it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("flagraft gossip key "), key...))
	return hex.EncodeToString(sum[:6])
}

// keyring keeps the ring of this node: in its file, readable by its owner
// alone, and in memberlist, which uses a change at once.
//
// It is under a mutex that covers an fsync: handlers of calls and the loop
// change it, and an edition must be on disk before it is told.
type keyring struct {
	path string
	seal cipher.AEAD // around rings on the wire; nil: TLS is there
	live *memberlist.Keyring

	mu   sync.Mutex
	ring gossipRing
}

type keyringFile struct {
	gossipRing
	Check uint32 `json:"check"` // CRC32C of the ring
}

// openKeyring reads the ring, or begins one with the key of the secret. Without
// a secret, where TLS protects the cluster port, a key that nobody else has
// stands in until the leader's ring arrives. nil: gossip is not encrypted.
func openKeyring(dir string, keys secretKeys, secure bool) (*keyring, error) {
	if keys.gossip == nil && !secure {
		return nil, nil
	}
	k := &keyring{path: filepath.Join(dir, keyringFileName)}
	if keys.ring != nil {
		block, err := aes.NewCipher(keys.ring)
		if err != nil {
			return nil, err
		}
		if k.seal, err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	raw, err := os.ReadFile(k.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		first := keys.gossip
		if first == nil {
			first = newGossipKey()
		}
		k.ring = gossipRing{Keys: [][]byte{first}}
	case err != nil:
		return nil, fmt.Errorf("cluster: gossip keys: %w", err)
	default:
		var f keyringFile
		if json.Unmarshal(raw, &f) != nil || f.check() != nil || f.Check != f.sum() {
			return nil, fmt.Errorf("%w: %s; without it the node gets the keys from its peers", ErrCorrupt, k.path)
		}
		k.ring = f.gossipRing
	}
	k.live, err = memberlist.NewKeyring(k.ring.Keys, k.ring.Keys[0])
	return k, err
}

func (r gossipRing) sum() uint32 {
	raw, _ := cbor.Marshal(r) // numbers and bytes always encode
	return crc32.Checksum(raw, castagnoli)
}

func newGossipKey() []byte {
	key := make([]byte, gossipKeySize)
	rand.Read(key) // never fails
	return key
}

func (k *keyring) current() gossipRing {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ring
}

// adopt takes a newer ring over, on disk first; it tells whether it was newer.
func (k *keyring) adopt(r gossipRing) (bool, error) {
	if err := r.check(); err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !r.newerThan(k.ring) {
		return false, nil
	}
	raw, err := json.Marshal(keyringFile{gossipRing: r, Check: r.sum()})
	if err == nil {
		err = writeFileDurably(k.path, append(raw, '\n'))
	}
	if err != nil {
		return false, fmt.Errorf("cluster: store gossip keys: %w", err)
	}
	k.ring = r
	return true, k.use(r.Keys)
}

// use brings memberlist's ring to keys. Each key in turn becomes the first one,
// the wanted first last, which puts what has to go at the end: RemoveKey shifts
// the very slice that readers hold, except when it removes the last.
func (k *keyring) use(keys [][]byte) error {
	for _, key := range keys {
		if err := k.live.AddKey(key); err != nil {
			return err
		}
	}
	for _, key := range slices.Backward(keys) {
		if err := k.live.UseKey(key); err != nil {
			return err
		}
	}
	for _, key := range slices.Backward(slices.Clone(k.live.GetKeys())) {
		if slices.ContainsFunc(keys, func(want []byte) bool { return bytes.Equal(want, key) }) {
			break
		}
		if err := k.live.RemoveKey(key); err != nil {
			return err
		}
	}
	return nil
}

var errSealed = errors.New("cluster: gossip keys cannot be opened")

// encode makes a ring ready for the wire: encrypted under the secret, since a
// connection without TLS can be read.
func (k *keyring) encode(r gossipRing) ([]byte, error) {
	raw, err := cbor.Marshal(r)
	if err != nil || k.seal == nil {
		return raw, err
	}
	nonce := make([]byte, k.seal.NonceSize())
	rand.Read(nonce) // never fails
	return k.seal.Seal(nonce, nonce, raw, nil), nil
}

func (k *keyring) decode(raw []byte) (gossipRing, error) {
	var r gossipRing
	if k.seal != nil {
		size := k.seal.NonceSize()
		if len(raw) < size {
			return r, errSealed
		}
		opened, err := k.seal.Open(nil, raw[:size], raw[size:], nil)
		if err != nil {
			return r, errSealed
		}
		raw = opened
	}
	if err := cbor.Unmarshal(raw, &r); err != nil {
		return r, errSealed
	}
	return r, r.check()
}
