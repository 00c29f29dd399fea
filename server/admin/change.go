package admin

import (
	"math"
	"net/url"
	"strconv"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// The change log as people read it: an operation of our own. Flagsmith's audit log tells of features and segments in sentences; this one tells
// of every admin write, row by row and field by field, as long as keep-change-log keeps it.

// change is one write.
type change struct {
	ID      uint64       `json:"id"`
	Index   uint64       `json:"index"` // of the log
	Time    fsm.Time     `json:"time"`
	Author  changeAuthor `json:"author"`
	Note    string       `json:"note"` // what a restore restored
	Changes []rowChange  `json:"changes"`
}

// changeAuthor is who made it; both ids are null for what the installation did by itself.
type changeAuthor struct {
	User         *uint64 `json:"user"`
	MasterAPIKey *uint64 `json:"master_api_key"`
	Name         string  `json:"name"` // e-mail address or name of the key, as it was then
}

// rowChange is one row of the write.
type rowChange struct {
	Model  string        `json:"model"`
	ID     uint64        `json:"id"`
	Change string        `json:"change_type"` // CREATE, UPDATE or DELETE
	Fields []fieldChange `json:"changes"`     // that differ
}

// changePage is a part of the log, the newest first.
type changePage struct {
	Next    *string  `json:"next"`
	Results []change `json:"results"`
}

type changeQuery struct {
	Before route.Optional[uint64] `query:"before"` // id that the page begins below
	Limit  route.Optional[int64]  `query:"limit" v:"min=1,max=999"`
	Model  string                 `query:"model"`
	Object route.Optional[uint64] `query:"object"` // id of a row of that model
	User   route.Optional[uint64] `query:"user"`
	Key    route.Optional[uint64] `query:"master_api_key"`
}

const changesLimit = 100

// maxChangesBytes ends a page before its limit: a write may have deleted a hundred thousand rows, and is shown in many times their bytes.
const maxChangesBytes = 4 << 20

func changeRows() []route.Row {
	const list, detail = "/api/flagraft/v1/changes/", "/api/flagraft/v1/changes/{id}/"
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "flagraft_v1_changes_list", Tag: "Audit", Summary: "Who changed what, from which value to which",
			Auth: route.Superuser, Handler: read(listChanges)},
		{Method: "GET", Path: detail, OperationID: "flagraft_v1_changes_retrieve", Tag: "Audit", Summary: "One write",
			Auth: route.Superuser, Handler: read(getChange)},
	}
}

func listChanges(c *Ctx, q changeQuery) (changePage, error) {
	before, limit := uint64(math.MaxUint64), changesLimit
	q.Before.Into(&before)
	if q.Limit.Set {
		limit = int(q.Limit.Value)
	}
	page, bytes := changePage{Results: []change{}}, uint64(0)
	for e := range fsm.ChangeLog.RefsBelow(c, before) {
		if !q.takes(e) {
			continue
		}
		if n := len(page.Results); n == limit || n > 0 && bytes+e.Size > maxChangesBytes {
			page.Next = c.nextChanges(page.Results[n-1].ID)
			break
		}
		bytes += e.Size
		shown, err := renderChange(e)
		if err != nil {
			return page, err
		}
		page.Results = append(page.Results, shown)
	}
	return page, nil
}

func (q *changeQuery) takes(e *fsm.ChangeLogEntry) bool {
	if q.User.Set && e.Author.User != q.User.Value || q.Key.Set && e.Author.MasterAPIKey != q.Key.Value {
		return false
	}
	if q.Model == "" && !q.Object.Set {
		return true
	}
	for _, r := range e.Changes {
		if (q.Model == "" || r.Model() == q.Model) && (!q.Object.Set || r.ID == q.Object.Value) {
			return true
		}
	}
	return false
}

// nextChanges is the request's address with another begin.
func (c *Ctx) nextChanges(before uint64) *string {
	q := url.Values{}
	for name, values := range c.Query() {
		q[name] = values
	}
	q["before"] = []string{strconv.FormatUint(before, 10)}
	next := c.URL(c.Request.Path) + "?" + q.Encode()
	return &next
}

func getChange(c *Ctx, in struct {
	ID uint64 `path:"id"`
}) (change, error) {
	e := fsm.ChangeLog.Ref(c, in.ID)
	if e == nil {
		return change{}, route.NotFoundDetail()
	}
	return renderChange(e)
}

func renderChange(e *fsm.ChangeLogEntry) (change, error) {
	out := change{ID: e.ID, Index: e.Index, Time: e.Time, Note: e.Note, Changes: make([]rowChange, 0, len(e.Changes)),
		Author: changeAuthor{User: idOrNull(e.Author.User), MasterAPIKey: idOrNull(e.Author.MasterAPIKey), Name: e.Author.Name}}
	for _, r := range e.Changes {
		shown, err := renderRowChange(r)
		if err != nil {
			return out, err
		}
		out.Changes = append(out.Changes, shown)
	}
	return out, nil
}

func renderRowChange(r fsm.RowChange) (rowChange, error) {
	out := rowChange{Model: r.Model(), ID: r.ID, Change: changeUpdate}
	before, after, err := r.Rows()
	if err != nil {
		return out, err
	}
	switch {
	case before == nil:
		out.Change = changeCreate
	case after == nil:
		out.Change = changeDelete
	}
	out.Fields = rowFields(before, after)
	return out, nil
}
