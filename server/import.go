package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/cluster"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/portable"
	"github.com/flagraft/flagraft/server/route"
)

const (
	importPath = "/api/flagraft/v1/import/"
	// maxImportBytes bounds a document: a project must fit into one log entry.
	maxImportBytes = 16 << 20
	// importIdentities is how many identities are created in one batch.
	importIdentities = 500
	importTimeout    = 5 * time.Minute
)

// importRequest asks the leader for an import; importAnswer is what came of it. They travel between nodes: members may be added, never changed.
type (
	importRequest struct {
		Document []byte     `cbor:"1,keyasint"`
		Into     uint64     `cbor:"2,keyasint,omitempty"`
		Author   fsm.Author `cbor:"3,keyasint"`
	}
	importAnswer struct {
		Body    []byte `cbor:"1,keyasint"` // []portable.Imported as JSON
		Refusal string `cbor:"2,keyasint,omitempty"`
		Index   uint64 `cbor:"3,keyasint,omitempty"`
	}
)

// importedProjects answers an import.
type importedProjects struct {
	Projects []portable.Imported `json:"projects"`
}

func (n *Node) importRows() []route.Row {
	return []route.Row{{Method: "POST", Path: importPath, OperationID: "flagraft_v1_import_create", Tag: "Backups", Kind: route.Local, Auth: route.Superuser, Refusals: []int{400, 413, 503, 507},
		Summary: "Import projects from an export.", Status: 200,
		Description: "Each project is imported whole or not at all, in the order of the document, with ids of its own; keys that are taken are made anew. " +
			"Organisations are found by uuid and name, then by name, or made; those of one document stay apart; ?into=ID names one. A project whose name the organisation has already is refused, so that none is " +
			"there twice, and ends the import. At most 16 MB.",
		Handler: route.Raw(n.serveImport, portable.Document{}, importedProjects{})}}
}

func (n *Node) serveImport(ctx *fasthttp.RequestCtx, m *route.Match) {
	req := n.server.detach(ctx)
	author, err := n.admitChange(n.server.ctx, m, req)
	if err != nil {
		writeError(ctx, err)
		return
	}
	ask := importRequest{Document: req.Body, Author: author}
	if into := string(ctx.QueryArgs().Peek("into")); into != "" {
		if ask.Into, err = strconv.ParseUint(into, 10, 64); err != nil {
			writeError(ctx, route.Field("into", route.MsgInteger))
			return
		}
	}
	if _, err := portable.Parse(req.Body); err != nil {
		writeError(ctx, route.BadRequest(err.Error()))
		return
	}
	answer, err := n.sendImport(n.server.ctx, &ask)
	switch {
	case errors.Is(err, cluster.ErrUnknownOutcome):
		writeError(ctx, route.Unavailable("It is not known whether everything was imported. To go on, take out of the document what is there, and send the rest again: a project that is there is refused, and ends the import.", 1))
	case errors.Is(err, cluster.ErrReadOnly):
		writeError(ctx, route.ReadOnly())
	case err != nil:
		writeError(ctx, route.Unavailable(msgNoLeader, 1))
	case answer.Refusal != "":
		writeError(ctx, route.BadRequest(answer.Refusal))
	default:
		wait, cancel := context.WithTimeout(n.server.ctx, viewTimeout)
		defer cancel()
		if n.showRestored(wait, answer.Index) != nil { // it is done in any case
			ctx.Response.Header.Set(headerVisible, "false")
		}
		if answer.Index > 0 { // 0: there was no project
			ctx.Response.Header.Set(headerIndex, string(fsm.AppendIndexToken(nil, n.fsm.State().Genesis.Epoch, answer.Index)))
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(answer.Body)
	}
	ctx.Response.Header.Set(headerNode, n.cluster.ID())
}

func (n *Node) sendImport(ctx context.Context, ask *importRequest) (answer importAnswer, err error) {
	payload, err := cbor.Marshal(ask)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	raw, err := n.cluster.Call(ctx, callImport, payload)
	if err != nil {
		return answer, err
	}
	return answer, cbor.Unmarshal(raw, &answer)
}

// handleImport is the leader's side.
func (n *Node) handleImport(ctx context.Context, _ string, payload []byte) ([]byte, error) {
	var ask importRequest
	if err := cbor.Unmarshal(payload, &ask); err != nil {
		return nil, err
	}
	done, index, err := n.importDocument(ctx, &ask)
	var invalid *portable.Invalid
	switch {
	case errors.As(err, &invalid), errors.Is(err, fsm.ErrTooLarge), errors.Is(err, fsm.ErrFormatLevel), errors.Is(err, errImportIdentities):
		text := err.Error() + ". This project, and what is behind it in the document, was not imported"
		for _, p := range done.Projects {
			text += fmt.Sprintf("; project %q was", p.Name)
		}
		return cbor.Marshal(importAnswer{Refusal: text + "."})
	case err != nil && len(done.Projects) > 0:
		return nil, fmt.Errorf("%w: %v", cluster.ErrUnknownOutcome, err) //nolint:errorlint // err may say that nothing was written
	case err != nil:
		return nil, err
	}
	body, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	return cbor.Marshal(importAnswer{Body: body, Index: index})
}

func (n *Node) importDocument(ctx context.Context, ask *importRequest) (done importedProjects, index uint64, err error) {
	d, err := portable.Parse(ask.Document)
	if err != nil {
		return done, 0, err
	}
	done.Projects = []portable.Imported{}
	for i := range d.Organisations {
		o := &d.Organisations[i]
		for j := range o.Projects {
			p := projectImport{node: n, organisation: o, others: d.Others(i), project: &o.Projects[j], ask: ask}
			if err := p.run(ctx); err != nil {
				return done, index, err
			}
			done.Projects, index = append(done.Projects, p.done), p.index
		}
	}
	return done, index, nil
}

// errImportIdentities is the error of identities that could not be created.
var errImportIdentities = errors.New("identities were refused")

// projectImport imports one project. Identities come first, in environments that have an id but no row, so that nobody sees them; the write
// that makes the project shows everything at once. When it fails they are removed again.
type projectImport struct {
	node         *Node
	organisation *portable.Organisation
	others       []uuid.UUID // of the document's other organisations
	project      *portable.Project
	ask          *importRequest
	environments []uint64

	done  portable.Imported
	index uint64
}

func (p *projectImport) run(ctx context.Context) error {
	if _, err := p.node.writer.Write(ctx, p.ask.Author, p.reserve); err != nil {
		return err
	}
	ops := p.project.IdentityOps(p.environments)
	err := p.identities(ctx, ops)
	if err == nil {
		var w fsm.Written
		w, err = p.node.writer.Write(ctx, p.ask.Author, func(tx *fsm.Tx) (err error) {
			p.done, err = p.project.Import(tx, p.organisation, portable.Target{Organisation: p.ask.Into, Others: p.others, User: p.ask.Author.User,
				Environments: p.environments, Limits: p.node.settings.ImportLimits()})
			return err
		})
		p.index = w.Index
	}
	if err != nil && len(ops) > 0 && !errors.Is(err, cluster.ErrUnknownOutcome) {
		p.drop(ctx)
	}
	return err
}

func (p *projectImport) reserve(tx *fsm.Tx) error {
	p.environments = p.environments[:0]
	for range p.project.Environments {
		p.environments = append(p.environments, tx.NextEnvironmentID())
	}
	return nil
}

func (p *projectImport) identities(ctx context.Context, ops []identity.Op) error {
	for len(ops) > 0 {
		batch := ops[:min(len(ops), importIdentities)]
		ops = ops[len(batch):]
		_, results, err := p.node.identities.Write(ctx, batch)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Status != identity.StatusOK && r.Status != identity.StatusExists { // exists: the batch was sent twice
				return fmt.Errorf("%w: status %d", errImportIdentities, r.Status)
			}
		}
	}
	return nil
}

// dropTimeout bounds drop.
const dropTimeout = 10 * time.Second

// drop removes the identities of an import that failed, also of one that failed since ctx ended.
func (p *projectImport) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	_, err := p.node.writer.Write(ctx, p.ask.Author, func(tx *fsm.Tx) error {
		for _, id := range p.environments {
			tx.Identity(identity.Op{Kind: identity.KindDropEnvironment, Environment: id}, nil)
		}
		return nil
	})
	if err != nil {
		p.node.log.Warn("identities of a failed import stay in environments that do not exist", "environments", p.environments, "error", err)
	}
}
