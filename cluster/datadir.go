package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

const (
	identityFileName = "node.json"
	logFileName      = "log.db"
	lockFileName     = "lock"
)

// identity is what node.json holds. The id lives beside the log on purpose: a
// node whose disk was lost comes back under a new id, since a voter that
// forgot its votes and its log must never vote again under the old one.
type identity struct {
	NodeID string `json:"node_id"`
	// LogMade says that the log file existed: if it is missing later, it was lost.
	LogMade bool   `json:"log_made"`
	Check   uint32 `json:"check"` // CRC32C over the other fields
}

func (id identity) sum() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%s|%t", id.NodeID, id.LogMade), castagnoli)
}

// loadIdentity reads or makes the node's identity. want is the configured id or "".
func loadIdentity(dir, want string) (identity, error) {
	id, err := readIdentity(filepath.Join(dir, identityFileName))
	hasLog := hasLog(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && hasLog:
		return id, fmt.Errorf("cluster: %s has a log but no %s: it was lost or belongs elsewhere; restore it, or empty the directory to join under a new id", dir, identityFileName)
	case errors.Is(err, fs.ErrNotExist):
		id = identity{NodeID: want}
		if id.NodeID == "" {
			id.NodeID = uuid.NewString()
		}
		return id, writeIdentity(dir, id)
	case err != nil:
		return id, err
	case want != "" && want != id.NodeID:
		return id, fmt.Errorf("cluster: %s belongs to node %s, not %s", dir, id.NodeID, want)
	case id.LogMade && !hasLog:
		return id, fmt.Errorf("cluster: the log of node %s is gone from %s: empty the directory to join under a new id (a node that forgot its votes must not come back as itself)", id.NodeID, dir)
	}
	return id, nil
}

// hasLog tells whether a log was made, by this or an older binary.
func hasLog(dir string) bool {
	return exists(filepath.Join(dir, logFileName)) || exists(filepath.Join(dir, oldLogFileName))
}

func readIdentity(path string) (identity, error) {
	var id identity
	raw, err := os.ReadFile(path)
	if err != nil {
		return id, err
	}
	if err := json.Unmarshal(raw, &id); err != nil || id.NodeID == "" || id.Check != id.sum() {
		return id, fmt.Errorf("%w: %s is damaged", ErrCorrupt, path)
	}
	return id, nil
}

func writeIdentity(dir string, id identity) error {
	id.Check = id.sum()
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeFileDurably(filepath.Join(dir, identityFileName), append(raw, '\n'))
}

// writeFileDurably replaces a file by way of a synced temporary one.
func writeFileDurably(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lockDataDir keeps a second process out of dir until the file is closed.
func lockDataDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("cluster: data directory %s is in use by another process: %w", dir, err)
	}
	return f, nil
}
