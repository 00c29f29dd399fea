package server

import (
	"bufio"
	"context"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/sdk"
)

// The stream of admin changes, for people who look at the same things: which tables a write touched and who made it, never what is in them.
// One goroutine a stream; consoles are few. Realtime for SDKs, of which there are many, is server/sdk.

const (
	eventsPath = "/api/flagraft/v1/events/"
	// eventStreams bounds how many are open on a node, and eventStreamsEach how many of one account: else one could keep all others out.
	eventStreams     = 1000
	eventStreamsEach = 100
	eventsPing       = 15 * time.Second
	// eventsPause is how often one stream gets an event at most; writes in between make one.
	eventsPause = 50 * time.Millisecond
)

// eventPlaces counts the streams that are open. Its zero value is none.
type eventPlaces struct {
	mu    sync.Mutex
	taken map[fsm.Author]int // by account or key, without its name
	all   int
}

func holder(who fsm.Author) fsm.Author {
	who.Name = "" // an address may change meanwhile
	return who
}

// enter takes a place, or says that there is none.
func (p *eventPlaces) enter(who fsm.Author) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= eventStreams || p.taken[holder(who)] >= eventStreamsEach {
		return false
	}
	if p.taken == nil {
		p.taken = map[fsm.Author]int{}
	}
	p.all++
	p.taken[holder(who)]++
	return true
}

func (p *eventPlaces) leave(who fsm.Author) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.taken[holder(who)]--; p.taken[holder(who)] == 0 {
		delete(p.taken, holder(who))
	}
}

// changeEvent tells of the writes since the event before it.
type changeEvent struct {
	Index  string   `json:"index"`  // the state that shows them, as Flagraft-Index
	Models []string `json:"models"` // tables with rows that changed
	Users  []uint64 `json:"users"`  // who made them; not: keys and the installation itself
}

func (n *Node) eventRows() []route.Row {
	return []route.Row{{Method: "GET", Path: eventsPath, OperationID: "flagraft_v1_events_retrieve", Tag: "Audit", Kind: route.Local, Auth: route.Admin,
		Media: "text/event-stream", Summary: "Follow what people of the caller's organisations change.",
		Description: "Server-sent events without a name; the data is an object with index (a Flagraft-Index), models (tables with rows that changed) and users (ids of those who changed them).",
		Handler:     route.Raw(n.serveEvents, nil, nil)}}
}

func (n *Node) serveEvents(ctx *fasthttp.RequestCtx, m *route.Match) {
	req, row := n.server.detach(ctx), m.Row
	admit := func() (fsm.Author, error) { return n.api.Admit(n.server.streams, &route.Match{Row: row}, req) }
	_, err := n.server.reader.await(n.server.ctx, req)
	var who fsm.Author
	if err == nil {
		who, err = admit()
	}
	if err == nil && !n.events.enter(who) {
		err = route.Unavailable(msgBusy, 5)
	}
	if err != nil {
		writeError(ctx, err)
		return
	}
	h := &ctx.Response.Header
	h.SetContentType("text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies of the nginx kind would hold events back
	ctx.SetConnectionClose()
	if ctx.IsHead() {
		n.events.leave(who)
		return
	}
	ctx.Response.ImmediateHeaderFlush = true
	conn := ctx.Conn()
	sdk.LimitSilence(under(conn).Conn) // a machine that is gone would hold its place for a quarter of an hour
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer n.events.leave(who)
		s := &eventStream{node: n, w: w, conn: conn, who: who}
		s.run(n.server.streams, func() bool { _, err := admit(); return err == nil })
	})
}

// eventStream is one stream.
type eventStream struct {
	node *Node
	w    *bufio.Writer
	conn net.Conn
	who  fsm.Author
	seen uint64 // id of the newest entry of the change log that was told
}

// run ends when the client is gone, the node stops, or the caller's credentials do.
func (s *eventStream) run(ctx context.Context, admitted func() bool) {
	state := s.node.fsm.State()
	for newest := range fsm.ChangeLog.RefsBelow(state, math.MaxUint64) {
		s.seen = newest.ID
		break
	}
	alive := s.send(": " + state.Genesis.Epoch + "\n\n")
	for alive && ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, eventsPing)
		moved := s.node.fsm.Applied().Wait(wait, state.Index+1) == nil
		cancel()
		if !admitted() {
			return
		}
		if !moved {
			alive = s.send(": ping\n\n")
			continue
		}
		pause(ctx, eventsPause)
		state = s.node.fsm.State()
		newest, event := s.since(state)
		s.seen = newest
		if len(event.Models) > 0 {
			alive = s.send("data: " + string(route.AppendJSON(nil, event)) + "\n\n")
		}
	}
}

// send gives the other end as long for each event as for an answer.
func (s *eventStream) send(text string) bool {
	var end time.Time // none, without a limit
	if limit := s.node.settings.WriteTimeout; limit > 0 {
		end = time.Now().Add(limit)
	}
	if s.conn.SetWriteDeadline(end) != nil {
		return false
	}
	_, err := s.w.WriteString(text)
	return err == nil && s.w.Flush() == nil
}

// since gathers what is new in the change log. After a restore ids may have begun anew: then there is nothing to compare with, and clients
// see by the epoch that everything changed.
func (s *eventStream) since(state *fsm.State) (newest uint64, e changeEvent) {
	e = changeEvent{Index: string(fsm.AppendIndexToken(nil, state.Genesis.Epoch, state.Index)), Models: []string{}, Users: []uint64{}}
	for entry := range fsm.ChangeLog.RefsBelow(state, math.MaxUint64) {
		newest = max(newest, entry.ID)
		if entry.ID <= s.seen {
			break
		}
		if !admin.SeesAuthor(state, s.who, entry.Author) {
			continue
		}
		if id := entry.Author.User; id != 0 && !slices.Contains(e.Users, id) {
			e.Users = append(e.Users, id)
		}
		for _, c := range entry.Changes {
			if model := c.Model(); !slices.Contains(e.Models, model) {
				e.Models = append(e.Models, model)
			}
		}
	}
	return newest, e
}
