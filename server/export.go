package server

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/portable"
	"github.com/flagraft/flagraft/server/route"
)

const exportPath = "/api/flagraft/v1/export/"

// clockSkew is how far a caller's clock may be ahead of ours.
const clockSkew = time.Minute

func (n *Node) exportRows() []route.Row {
	return []route.Row{{Method: "GET", Path: exportPath, OperationID: "flagraft_v1_export_retrieve", Tag: "Backups", Kind: route.Local,
		Auth: route.Superuser, Summary: "Export organisations as JSON.",
		Description: "Of one moment. ?organisation=ID: one organisation. ?identities=true: identities with traits and overrides. ?secrets=true: " +
			"server-side keys. ?as_of=TIME (RFC 3339) or ?index=N: as it was then, as far as the change log reaches back; not with identities.",
		Handler: route.Raw(n.serveExport, nil, portable.Document{})}}
}

// serveExport streams an export.
func (n *Node) serveExport(ctx *fasthttp.RequestCtx, m *route.Match) {
	req := n.server.detach(ctx)
	got, err := n.admitBackup(n.server.ctx, m, req)
	if err != nil {
		writeError(ctx, err)
		return
	}
	query, _ := url.ParseQuery(req.Query)
	state, options, err := n.exported(query)
	if err != nil {
		writeError(ctx, err)
		return
	}
	if !n.beginBackup(ctx) {
		return
	}
	if ctx.IsHead() {
		<-n.backups
		return
	}
	ctx.Response.Header.Set(headerNode, n.cluster.ID())
	ctx.Response.Header.Set(headerConsistency, got)
	ctx.SetContentType("application/json")
	ctx.SetConnectionClose()
	conn := ctx.Conn()
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer func() { <-n.backups }()
		err := portable.Write(&patientWriter{w: w, conn: conn}, state, options)
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			n.log.Warn("export broke off", "error", errors.Join(err, conn.Close()))
		}
	})
}

// exported reads what an export is asked to hold, and of when.
func (n *Node) exported(q url.Values) (*fsm.State, portable.Options, error) {
	o := portable.Options{Identities: q.Get("identities") == "true", Secrets: q.Get("secrets") == "true", Flagraft: n.build.Version}
	state := n.fsm.State()
	var err error
	if id := q.Get("organisation"); id != "" {
		if o.Organisation, err = strconv.ParseUint(id, 10, 64); err != nil || o.Organisation == 0 {
			return nil, o, route.Field("organisation", route.MsgInteger)
		}
	}
	var kept func(uint64, fsm.Time) bool
	switch at, index := q.Get("as_of"), q.Get("index"); {
	case at != "":
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return nil, o, route.Field("as_of", "A time like 2026-03-01T12:00:00Z is needed.")
		}
		if now := n.Clock(); t.After(now.Add(clockSkew)) {
			return nil, o, route.Field("as_of", fmt.Sprintf("This is in the future: it is %s.", now.UTC().Format(time.RFC3339)))
		}
		kept = func(_ uint64, when fsm.Time) bool { return when <= fsm.TimeOf(t) }
	case index != "":
		limit, err := strconv.ParseUint(index, 10, 64)
		if err != nil {
			return nil, o, route.Field("index", route.MsgInteger)
		}
		if limit > state.Index {
			return nil, o, route.Field("index", fmt.Sprintf("This node has applied the log up to index %d.", state.Index))
		}
		kept = func(i uint64, _ fsm.Time) bool { return i <= limit }
	}
	if kept != nil {
		if o.Identities {
			return nil, o, route.Field("identities", "Identities are those of now: the change log does not hold them. Leave out as_of and index, or identities.")
		}
		if state, err = state.AsOf(kept); err != nil {
			return nil, o, route.BadRequest(fmt.Sprintf("There is no such moment: %v.", err))
		}
	}
	if _, ok := fsm.Organisations.Get(state, o.Organisation); o.Organisation != 0 && !ok {
		return nil, o, route.NotFound(fsm.Organisations.Name())
	}
	return state, o, nil
}
