package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The operations of a restore. A backup comes in parts, so that any proxy lets it through and any node may take any of them.

const restorePath = "/api/flagraft/v1/restores/{id}/"

// restoreReceived answers a part.
type restoreReceived struct {
	Received uint64 `json:"received"`
}

// restored answers the end of a restore.
type restored struct {
	Index        string `json:"index"` // of the log entry that made the switch
	Epoch        string `json:"epoch"`
	Environments int    `json:"environments"`
}

func (n *Node) restoreRows() []route.Row {
	row := func(method, path, id, summary string, h route.RawHandler) route.Row {
		return route.Row{Method: method, Path: path, OperationID: id, Tag: "Backups", Kind: route.Local, Auth: route.Superuser, Summary: summary, Handler: h, Refusals: []int{409, 413, 507},
			Description: "A restore has a uuid that the caller chooses. The backup is sent in order, in parts of 512 KB or less, each as the body of a PUT that " +
				"names its offset; then a POST makes the switch, on all nodes at once. With ?force=true it removes projects, else it is refused while there are " +
				"any. Every request may be repeated. Restored are sign-ins and keys, too: the caller's token may be invalid afterwards."}
	}
	return []route.Row{
		row("PUT", restorePath+"parts/{offset}/", "flagraft_v1_restores_parts_update", "Send a part of a backup to restore.",
			route.Raw(n.restorePart, nil, restoreReceived{})),
		row("POST", restorePath+"apply/", "flagraft_v1_restores_apply", "Replace everything by the backup that was sent.",
			route.Raw(n.restoreApply, nil, restored{})),
	}
}

func (n *Node) restorePart(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, p, err := n.admitRestore(ctx, m)
	if err == nil {
		p.Data = c.Request.Body
		if p.Offset, err = strconv.ParseUint(c.Param("offset"), 10, 64); err != nil {
			err = route.NotFoundDetail()
		}
	}
	if err != nil {
		writeError(ctx, err)
		return
	}
	answer, err := n.sendRestore(n.server.ctx, p)
	n.answerRestore(ctx, err, func() any { return restoreReceived{answer.Received} })
}

func (n *Node) restoreApply(ctx *fasthttp.RequestCtx, m *route.Match) {
	c, p, err := n.admitRestore(ctx, m)
	if err == nil {
		p.Last = true
		if p.Offset, err = strconv.ParseUint(c.Query().Get("bytes"), 10, 64); err != nil {
			err = route.Field("bytes", "The size of the backup is needed.")
		}
	}
	if err != nil {
		writeError(ctx, err)
		return
	}
	answer, err := n.sendRestore(n.server.ctx, p)
	if err == nil {
		wait, cancel := context.WithTimeout(n.server.ctx, viewTimeout)
		defer cancel()
		if late := n.showRestored(wait, answer.Index); late != nil {
			n.log.Warn("a restore is done but not visible here yet", "index", answer.Index, "error", late)
		}
	}
	n.answerRestore(ctx, err, func() any {
		ctx.Response.Header.Set(headerIndex, string(fsm.AppendIndexToken(nil, n.fsm.State().Genesis.Epoch, answer.Index)))
		return n.describeRestore(answer.Index)
	})
}

// admitRestore judges who asks and reads what all operations have.
func (n *Node) admitRestore(ctx *fasthttp.RequestCtx, m *route.Match) (*route.Call, *fsm.RestorePart, error) {
	req := n.server.detach(ctx)
	author, err := n.admitChange(n.server.ctx, m, req)
	if err != nil {
		return nil, nil, err
	}
	c := route.NewCall(n.server.ctx, m, req)
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return nil, nil, route.NotFoundDetail()
	}
	return c, &fsm.RestorePart{ID: id, Force: c.Query().Get("force") == "true", Author: author}, nil
}

func (n *Node) answerRestore(ctx *fasthttp.RequestCtx, err error, success func() any) {
	ctx.Response.Header.Set(headerNode, n.cluster.ID())
	var refusal *restoreRefusal
	switch {
	case errors.As(err, &refusal) && refusal.conflict:
		writeError(ctx, route.Conflict(refusal.text))
	case errors.As(err, &refusal):
		writeError(ctx, route.BadRequest(refusal.text))
	case errors.Is(err, cluster.ErrReadOnly):
		writeError(ctx, route.ReadOnly())
	case err != nil:
		n.log.Warn("restore", "error", err)
		writeError(ctx, route.Unavailable("It is not known whether the leader took this: "+err.Error()+". It is safe to send it again.", 1))
	default:
		body, err := json.Marshal(success())
		if err != nil {
			writeError(ctx, route.Internal())
			return
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(body)
	}
}
