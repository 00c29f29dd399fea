package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/requestid"
	"github.com/flagraft/flagraft/server/route"
)

const (
	backupPath = "/api/flagraft/v1/backup/"
	// backupsAtOnce bounds how many backups a node streams: each freezes the identities for as long as it runs.
	backupsAtOnce = 2
	// backupStall is how long the taker of a backup may take nothing.
	backupStall = 30 * time.Second
)

// WriteBackup writes everything this node has applied, as of one entry, to w: one file that `flagraft backup verify` reads and a restore takes.
// The node goes on serving. Errors are w's, or [fsm.ErrNotBorn].
func (n *Node) WriteBackup(w io.Writer) (fsm.BackupHeader, error) {
	return n.fsm.Backup(w, fsm.BackupOrigin{
		Cluster: n.cluster.ClusterID(), Node: n.cluster.ID(), Version: n.build.Version, Term: n.cluster.Status().Term, Taken: fsm.TimeOf(time.Now()),
	})
}

// backupRows are everything about backups, restores, exports and imports.
func (n *Node) backupRows() []route.Row {
	backup := []route.Row{{Method: "GET", Path: backupPath, OperationID: "flagraft_v1_backup_retrieve", Tag: "Backups", Kind: route.Local,
		Auth: route.Superuser, Summary: "Take a backup of everything as one file.",
		Description: "The answer is the file, written by this node while it goes on serving. By default it holds every write acknowledged before the " +
			"request; with Flagraft-Consistency: local, or while there is no leader, what this node has applied, Flagraft-Age ms old at most.",
		Handler: route.Raw(n.serveBackup, nil, nil)}}
	return slices.Concat(backup, n.restoreRows(), n.exportRows(), n.importRows())
}

// beginBackup takes one of the node's few places for backups and exports, or
// answers that there is none. Who is done takes <-n.backups.
func (n *Node) beginBackup(ctx *fasthttp.RequestCtx) bool {
	select {
	case n.backups <- struct{}{}:
		return true
	default:
		writeError(ctx, route.Unavailable("This node is taking other backups already.", 30))
		return false
	}
}

// serveBackup streams a backup.
func (n *Node) serveBackup(ctx *fasthttp.RequestCtx, m *route.Match) {
	req := n.server.detach(ctx)
	got, err := n.admitBackup(n.server.ctx, m, req)
	if err != nil {
		writeError(ctx, err)
		return
	}
	if !n.beginBackup(ctx) {
		return
	}
	state := n.fsm.State()
	h := &ctx.Response.Header
	h.Set(headerNode, n.cluster.ID())
	h.Set(headerConsistency, got)
	h.Set(headerAge, strconv.FormatInt(n.reads().Age().Milliseconds(), 10))
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="flagraft-%s-%d.backup"`, time.Now().UTC().Format("20060102T150405Z"), state.Index))
	ctx.SetContentType("application/octet-stream")
	ctx.SetConnectionClose()
	if ctx.IsHead() {
		<-n.backups
		return
	}
	conn, within := ctx.Conn(), requestid.With(context.Background(), requestid.Of(ctx))
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer func() { <-n.backups }()
		n.streamBackup(within, w, conn)
	})
}

// admitBackup waits for the state that is asked for and judges by it who asks; it returns the consistency they get.
func (n *Node) admitBackup(ctx context.Context, m *route.Match, req *route.Request) (string, error) {
	got, err := n.server.reader.await(ctx, req)
	if err != nil {
		return "", err
	}
	_, err = n.api.Admit(ctx, m, req)
	return got, err
}

// admitChange judges who asks for a change that no transaction judges again.
func (n *Node) admitChange(ctx context.Context, m *route.Match, req *route.Request) (fsm.Author, error) {
	if n.fsm.State().Born() { // else Admit says that it is not
		if err := n.server.confirm(ctx); err != nil {
			return fsm.Author{}, err
		}
	}
	return n.api.Admit(ctx, m, req)
}

// streamBackup writes a backup to a connection. One that fails breaks the connection, so that nobody takes a part for the whole.
func (n *Node) streamBackup(ctx context.Context, w *bufio.Writer, conn net.Conn) {
	start := time.Now()
	out := &patientWriter{w: w, conn: conn}
	h, err := n.WriteBackup(out)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		n.log.WarnContext(ctx, "backup not taken", "bytes", out.n, "error", errors.Join(err, conn.Close()))
		return
	}
	n.log.InfoContext(ctx, "backup taken", "index", h.Index, "bytes", out.n, "took", time.Since(start))
}

// patientWriter gives the other end time anew with each piece that it takes.
type patientWriter struct {
	w    io.Writer
	conn net.Conn
	n    int64
}

func (p *patientWriter) Write(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(backupStall)); err != nil {
		return 0, err
	}
	n, err := p.w.Write(b)
	p.n += int64(n)
	return n, err
}
