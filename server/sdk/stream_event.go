package sdk

import (
	"bytes"
	"strconv"
	"time"

	"github.com/flagraft/flagraft/fsm"
)

// frame is a piece of a stream, as HTTP/1.1 and as HTTP/1.0 carry it. It is
// immutable: one frame is written to all streams of an environment.
type frame struct{ chunked, plain []byte }

func newFrame(text []byte) frame {
	chunk := strconv.AppendInt(nil, int64(len(text)), 16)
	chunk = append(append(append(chunk, "\r\n"...), text...), "\r\n"...)
	return frame{chunked: chunk, plain: text}
}

// dialect is the form of a stream's events.
type dialect uint8

const (
	flagsmithEvents dialect = iota
	ofrepEvents
	dialects
)

// events is one change in every dialect.
type events [dialects]frame

// newEvents announces a View. settled is an index that all ready nodes have: it
// goes into the token that Last-Event-ID brings back.
//
// Flagsmith's event has exactly the form that its clients parse: seconds with a
// fraction, one data line, one blank after the colon. OFREP's has no name, and
// the index that a refetch on any node waits for.
func newEvents(v *fsm.View, settled uint64) (e events) {
	id := append(fsm.AppendIndexToken([]byte("id: "), v.State.Genesis.Epoch, settled), '\n')
	text := append(bytes.Clone(id), "event: environment_updated\ndata: {\"updated_at\": "...)
	e[flagsmithEvents] = newFrame(append(append(text, v.UpdatedAt...), "}\n\n"...))
	text = append(bytes.Clone(id), `data: {"type": "refetchEvaluation", "etag": "`...)
	e[ofrepEvents] = newFrame(append(append(text, v.IndexToken...), "\"}\n\n"...))
	return e
}

// keepAlive is a comment: an event without meaning would break the Python client.
func keepAlive() frame { return newFrame([]byte(": ping\n\n")) }

// lastChunk ends a chunked stream.
const lastChunk = "0\r\n\r\n"

// topic is the streams of one environment at one writer.
type topic struct {
	live    *fsm.Live
	key     string // that opened them
	streams []*stream

	updated fsm.Time // of the newest event
	index   uint64   // of the View it announced
	again   bool     // not all ready nodes had that View: the event is sent once more
	newest  events
}

// over reports whether its streams are to end: the environment is gone, or has another key by now, and theirs opens nothing any more.
func (t *topic) over() bool {
	v := t.live.View()
	return t.live.Gone() || v != nil && v.Environment.APIKey != t.key
}

func (t *topic) add(s *stream) {
	s.topic, s.place = t, len(t.streams)
	t.streams = append(t.streams, s)
}

func (t *topic) remove(s *stream) {
	last := len(t.streams) - 1
	t.streams[s.place] = t.streams[last]
	t.streams[s.place].place = s.place
	t.streams[last] = nil
	t.streams = t.streams[:last]
}

// refresh takes up the newest View and reports whether its event is to be sent:
// because updated_at is newer, or because all ready nodes have it by now.
//
// The token of an event is an index that all ready nodes have. A client that has
// seen only the first event of two, and may have fetched from a node that was
// behind, gets another when it comes back.
func (t *topic) refresh(everywhere uint64, alone bool) (send bool) {
	v := t.live.View()
	if v == nil {
		return false
	}
	if alone {
		everywhere = v.Index
	}
	switch {
	case t.index == 0 || v.Environment.UpdatedAt > t.updated:
		t.updated, t.index = v.Environment.UpdatedAt, v.Index
		t.again = everywhere < t.index
	case t.again && everywhere >= t.index:
		t.again = false
	default:
		return false
	}
	t.newest = newEvents(v, min(t.index, everywhere))
	return true
}

const (
	pingEvery = 15 * time.Second
	// pingSlots spreads the keep-alives of a writer over the period.
	pingSlots = 60
	// slowFor is how long a client may take nothing before it is dropped.
	slowFor = 10 * time.Second
	// silentFor is how long a client's machine may acknowledge nothing of what was sent; see limitSilence.
	silentFor = 30 * time.Second
)
