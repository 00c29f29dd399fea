package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Bounds of one Writer turn. A transaction that alone passes maxTurnBytes makes
// an entry of its own; past maxWriteBytes it is refused.
const (
	maxTurnTime   = 50 * time.Millisecond
	maxTurnBytes  = 1 << 20
	maxWriteBytes = 16 << 20
	maxReruns     = 5
)

// ErrTooLarge is the error of a write that no log entry can carry.
var ErrTooLarge = errors.New("write is larger than a log entry may be")

// ErrReadOnly is the error of a write that was refused before anything happened,
// because the cluster has too little disk space. It is a Proposer's and a SendFunc's.
var ErrReadOnly = errors.New("read-only: too little disk space")

// ErrPanicked is the error of a transaction that panicked; it was aborted.
var ErrPanicked = errors.New("panic in a write")

// Proposer replicates entries: the cluster node. Only the leader's succeeds.
type Proposer interface {
	// Propose replicates an entry and returns its index and Apply's answer. An
	// error may mean that the outcome is unknown; see package cluster.
	Propose(ctx context.Context, entry []byte) (index uint64, answer any, err error)
	// Barrier returns once everything committed before it is applied here.
	Barrier(ctx context.Context) error
	// Verify returns nil if this node still leads.
	Verify(ctx context.Context) error
}

// Writer is the actor that turns admin writes into changesets, on the leader.
// One turn takes everything that waits in its mailbox, runs the transactions in
// order on one fork of the state, proposes their rows as one entry, waits until it
// is applied, and answers everybody: no two transactions race, and the rate is
// batch × commits. It is the one actor that waits inside its loop.
//
// Full-policy: callers block until there is room or their context ends.
type Writer struct {
	fsm     *FSM
	log     *slog.Logger
	propose Proposer
	clock   func() time.Time
	mailbox *actor.Actor[*request]
	caps    identityCaps
	derive  func(*Tx)
	full    func() bool               // the cluster takes no writes for want of disk space; nil: never
	began   atomic.Pointer[time.Time] // when the turn at hand began; nil: there is none

	// Owned by the actor.
	verified bool // a barrier passed since leadership was gained or a propose failed
}

// Written tells what became of a successful write.
type Written struct {
	Index        uint64   // of the entry; 0 when the write changed nothing
	Environments []uint64 // whose Views it touched
	Timing       Timing
}

// request is one waiting transaction; a nil run only readies the Writer.
type request struct {
	ctx    context.Context
	author Author
	run    func(*Tx) error
	answer chan<- outcome
	reset  bool // leadership was gained
	timing Timing

	// Of the turn at hand.
	tx     *Tx
	write  write
	writes bool
	err    error
}

type outcome struct {
	written Written
	err     error
}

// NewWriter starts the Writer. clock is the wall clock of proposed times.
func NewWriter(f *FSM, p Proposer, clock func() time.Time, log *slog.Logger) *Writer {
	w := &Writer{fsm: f, propose: p, clock: clock, log: log}
	w.mailbox = actor.StartBatch(1024, w.turn)
	return w
}

// Derive sets what runs at the end of every successful transaction and may add
// rows that follow from what it changed. It is set before the first write.
func (w *Writer) Derive(f func(*Tx)) { w.derive = f }

// RefuseWhen sets what tells that the cluster takes no writes for want of disk
// space. It is set before the first write.
func (w *Writer) RefuseWhen(full func() bool) { w.full = full }

// longTurn is how long a turn may take before writes are refused on a full disk.
const longTurn = time.Second

// stuck reports whether the turn at hand waits for disk space: an entry that was
// proposed before anybody knew of it does, on a node that is alone, for as long
// as it takes, and so would everybody behind it.
func (w *Writer) stuck() bool {
	began := w.began.Load()
	return began != nil && w.full != nil && w.full() && time.Since(*began) > longTurn
}

// Stop lets waiting writes finish and ends the actor.
func (w *Writer) Stop() { w.mailbox.Stop() }

// Gained tells the Writer that this node became the leader: it catches up with
// the log and, on a new installation, writes the genesis.
func (w *Writer) Gained() {
	_ = w.mailbox.TryTell(&request{ctx: context.Background(), reset: true, answer: make(chan outcome, 1)})
}

// Waiting returns how many writes wait for a turn.
func (w *Writer) Waiting() int { return w.mailbox.Len() }

// Write runs a transaction and returns once what it wrote is committed and
// applied on this node. run may be called more than once, each time on a fresh
// [Tx], and must not keep what it read; an error of run aborts it alone and is
// returned as it is. Other errors are the [Proposer]'s.
func (w *Writer) Write(ctx context.Context, author Author, run func(*Tx) error) (Written, error) {
	if w.stuck() {
		return Written{}, ErrReadOnly
	}
	answer := make(chan outcome, 1)
	r := &request{ctx: ctx, author: author, run: run, answer: answer}
	r.timing.Wait.Began = time.Now()
	if err := w.mailbox.Tell(ctx, r); err != nil {
		return Written{}, err
	}
	// The context is not watched here: once taken, the answer is either an error
	// of a context that ended before the run, or the true outcome.
	o := <-answer
	return o.written, o.err
}

func (w *Writer) turn(batch []*request) {
	began := time.Now()
	w.began.Store(&began)
	defer w.began.Store(nil)
	for _, r := range batch {
		if r.reset {
			w.verified = false
		}
	}
	for len(batch) > 0 {
		n := w.group(batch)
		for _, r := range batch[:n] {
			r.tx = nil
		}
		batch = batch[n:]
	}
}

// group runs as many waiting transactions as one entry may hold, at least one,
// and answers them; it returns how many.
func (w *Writer) group(batch []*request) int {
	var n int
	var err error
	for range maxReruns {
		if err = w.ready(); err != nil {
			n = len(batch)
			break
		}
		var entry []byte
		if n, entry = w.run(batch); entry == nil {
			err = w.propose.Verify(context.Background())
			break
		}
		var index uint64
		var result any
		began := time.Now()
		index, result, err = w.propose.Propose(context.Background(), entry)
		w.took(batch[:n], Span{began, time.Now()})
		if err != nil {
			// What was refused left no gap; a barrier would be another entry on the full disk.
			w.verified = errors.Is(err, ErrReadOnly)
			break
		}
		done := result.(*ChangesetResult)
		if done.Err == nil {
			w.answer(batch[:n], index, done)
			return n
		}
		err = done.Err
		w.verified = !errors.Is(err, ErrFenced)
	}
	for _, r := range batch[:n] {
		switch {
		case err != nil:
			r.answer <- outcome{written: Written{Timing: r.timing}, err: err}
		default:
			r.answer <- outcome{err: r.err}
		}
	}
	return n
}

// took notes how long an entry of these transactions took.
func (w *Writer) took(batch []*request, s Span) {
	w.fsm.measures.writePropose.Observe(s.Ended.Sub(s.Began).Seconds())
	for _, r := range batch {
		if r.writes {
			r.timing.Propose = s
			w.fsm.measures.writeWait.Observe(r.timing.Wait.Ended.Sub(r.timing.Wait.Began).Seconds())
		}
	}
}

// ready makes sure that the fork shows everything committed before this turn.
func (w *Writer) ready() error {
	if w.verified {
		return nil
	}
	if err := w.propose.Barrier(context.Background()); err != nil {
		return err
	}
	if !w.fsm.State().Born() {
		if _, _, err := w.propose.Propose(context.Background(), newGenesis(w.clock())); err != nil {
			return err
		}
	}
	w.verified = true
	return nil
}

// run executes transactions on a fork until the turn is full. The entry is nil
// when none of them changed anything.
func (w *Writer) run(batch []*request) (n int, entry []byte) {
	state := w.fsm.State()
	rows := state.rows.fork()
	now := max(TimeOf(w.clock()), state.Time+1)
	start, size := time.Now(), 0
	c := changeset{Seq: state.Seq + 1}
	named, turn := identitiesNamed{}, counters{}
	guard := w.caps.guard(state)
	for _, r := range batch {
		if n > 0 && (size > maxTurnBytes || time.Since(start) > maxTurnTime) {
			break
		}
		bytes := w.runOne(r, rows, state, turn, now, guard)
		if n > 0 && r.writes && (size+bytes > maxTurnBytes || named.some(r.tx)) {
			break // a turn of its own; it runs again there
		}
		n++
		if r.writes {
			named.add(r.tx)
			maps.Copy(turn, r.tx.given)
			c.Writes = append(c.Writes, r.write)
			size += bytes
			now++
		}
	}
	if len(c.Writes) == 0 {
		return n, nil
	}
	final := &c.Writes[len(c.Writes)-1]
	final.Ops = append(final.Ops, turn.ops()...)
	c.Time = now - 1
	return n, newEntry(KindChangeset, state.Level(), must(encMode.Marshal(&c)))
}

// identitiesNamed are the identities that the operations of a turn concern. The store does not show a transaction what the ones before it in
// the turn do to identities, so two that concern the same one never share a turn.
type identitiesNamed map[identityName]struct{}

type identityName struct {
	environment, id uint64
	identifier      string // when id is 0
}

func nameIdentity(op *identity.Op) identityName {
	if op.Identity != 0 {
		return identityName{environment: op.Environment, id: op.Identity}
	}
	return identityName{environment: op.Environment, identifier: string(op.Identifier)}
}

func (named identitiesNamed) some(tx *Tx) bool {
	for i := range tx.identities {
		if _, ok := named[nameIdentity(&tx.identities[i])]; ok {
			return true
		}
	}
	return false
}

func (named identitiesNamed) add(tx *Tx) {
	for i := range tx.identities {
		named[nameIdentity(&tx.identities[i])] = struct{}{}
	}
}

// runOne runs one transaction on the rows of the turn and leaves its result in r; it returns its size. A failed one
// leaves the rows as they were.
func (w *Writer) runOne(r *request, rows *rows, state *State, turn counters, now Time, guard *identity.Guard) int {
	r.tx, r.write, r.writes, r.err = nil, write{}, false, nil
	r.timing.Wait.Ended = time.Now()
	if r.run == nil {
		return 0
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0
	}
	tx := &Tx{rows: rows, state: state, now: now, author: r.author, last: map[rowKey]int{}, given: counters{}, turn: turn}
	tx.writeID = tx.lastGiven(uint64(ChangeLog.def.number)) + 1
	r.tx = tx
	if r.err = w.call(r.ctx, r.run, tx); r.err == nil && (tx.bytes > maxWriteBytes || tx.divided) {
		r.err = ErrTooLarge
	}
	if r.err == nil {
		r.err = refused(guard, tx)
	}
	if r.err == nil && tx.level > state.Level() {
		r.err = fmt.Errorf("%w: it needs %d, the cluster is at %d", ErrFormatLevel, tx.level, state.Level())
	}
	if r.err == nil {
		r.write, r.writes = tx.finish()
	} else {
		tx.rollback()
	}
	tx.rows = nil
	return tx.bytes + len(r.write.Identities)
}

// call turns a panic of a handler into its error: one bad request must not end
// the Writer.
func (w *Writer) call(ctx context.Context, run func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.ErrorContext(ctx, "panic in a write", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanicked, p)
		}
	}()
	if err := run(tx); err != nil || w.derive == nil {
		return err
	}
	w.derive(tx)
	return nil
}

func (w *Writer) answer(batch []*request, index uint64, done *ChangesetResult) {
	i := 0
	for _, r := range batch {
		if !r.writes {
			r.answer <- outcome{err: r.err}
			continue
		}
		for j, applied := range r.tx.applied {
			if applied != nil {
				applied(done.Results[i][j])
			}
		}
		r.answer <- outcome{written: Written{Index: index, Environments: done.Touched[i], Timing: r.timing}}
		i++
	}
}
