package fsm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm/identity"
)

// TestDeterminism applies one random log in batches of different sizes, and
// through snapshots at random points, sometimes as a start does, and wants the same
// state every time, with every identity on the pages by identifier.
func TestDeterminism(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	log, want := randomLog(t, rand.New(rand.NewPCG(seed, 1)), 800) // long enough for a row of every table: see covers
	covers(t, log)

	for run := range 6 {
		r := rand.New(rand.NewPCG(seed, uint64(run+2)))
		f := newTestFSM(t)
		f.Replaying(run%2 == 1)
		for rest := log; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 1<<run))
			f.ApplyBatch(rest[:n])
			rest = rest[n:]
			if run > 2 && r.IntN(20) == 0 && f.staged == nil {
				f = throughSnapshot(t, f)
				f.Replaying(run%2 == 1)
			}
		}
		f.Replaying(false)
		require.Equal(t, want, f.State().Hash(), "seed %d, run %d", seed, run)
		for _, environment := range f.ids.Environments() {
			st := f.ids.Environment(environment)
			require.Len(t, st.Scan(nil, nil, st.Count()+1), st.Count(), "seed %d, run %d", seed, run)
			require.Len(t, st.Page(0, st.Count()+1), st.Count(), "seed %d, run %d", seed, run)
			_, found := st.Contains("user", 0, 1)
			require.Equal(t, st.Count(), found, "seed %d, run %d", seed, run)
		}
	}
}

// covers fails for a table or an entry kind that the random log does not hold,
// so that a new one cannot be forgotten.
func covers(t *testing.T, log []*raft.Log) {
	t.Helper()
	seenKinds, seenTables := map[Kind]bool{}, map[uint8]bool{}
	f := newTestFSM(t)
	for _, l := range log {
		seenKinds[Kind(l.Data[0])] = true
		f.Apply(l)
		for _, def := range registry.all {
			if !seenTables[def.number] {
				seenTables[def.number] = f.State().rows.count(def) > 0
			}
		}
	}
	for _, k := range kinds {
		require.True(t, seenKinds[k], "no entry of kind %d in the log", k)
	}
	for _, def := range registry.all {
		require.True(t, seenTables[def.number], "no row of table %s in the log", def.name)
	}
}

func throughSnapshot(t *testing.T, f *FSM) *FSM {
	t.Helper()
	before := f.State()
	s, err := f.Snapshot()
	require.NoError(t, err)
	defer s.Release()
	var buf bytes.Buffer
	require.NoError(t, s.(*snapshot).write(&buf))
	restored := newTestFSM(t)
	require.NoError(t, restored.Restore(io.NopCloser(&buf)))
	require.Equal(t, before.Hash(), restored.State().Hash())
	require.Equal(t, before.Index, restored.State().Index)
	require.Equal(t, before.sizes, restored.State().sizes)
	sameIndexes(t, before, restored.State())
	return restored
}

// sameIndexes compares what the hash of a state leaves out: the rows as they are decoded, and which an index has where.
func sameIndexes(t *testing.T, a, b *State) {
	t.Helper()
	for _, def := range registry.all {
		require.Equal(t, a.rows.count(def), b.rows.count(def), def.name)
		if a.rows.count(def) == 0 {
			continue
		}
		one, other := a.rows.tables[def.place], b.rows.tables[def.place]
		require.Equal(t, one.byID.Keys(), other.byID.Keys(), def.name)
		require.Equal(t, one.byID.Values(), other.byID.Values(), def.name)
		for i, x := range def.indexes {
			require.Equal(t, one.indexes[i].Keys(), other.indexes[i].Keys(), "%s by %s", def.name, x.name)
			require.Equal(t, one.indexes[i].Values(), other.indexes[i].Values(), "%s by %s", def.name, x.name)
		}
	}
}

func newTestFSM(t testing.TB) *FSM {
	views := NewViews(slog.New(slog.DiscardHandler))
	f := New(slog.New(slog.DiscardHandler), views)
	t.Cleanup(views.Stop)
	return f
}

// logProposer applies what is proposed and keeps it as a log.
type logProposer struct {
	fsm *FSM
	log []*raft.Log
}

func (p *logProposer) Propose(_ context.Context, entry []byte) (uint64, any, error) {
	l := &raft.Log{Index: uint64(len(p.log)) + 1, Type: raft.LogCommand, Data: entry}
	p.log = append(p.log, l)
	return l.Index, p.fsm.Apply(l), nil
}
func (p *logProposer) Barrier(context.Context) error { return nil }
func (p *logProposer) Verify(context.Context) error  { return nil }

func randomLog(t testing.TB, r *rand.Rand, n int) ([]*raft.Log, string) {
	t.Helper()
	f := newTestFSM(t)
	p := &logProposer{fsm: f}
	clock := func() time.Time { return time.UnixMicro(1_700_000_000_000_000 + int64(len(p.log))*1_000) }
	w := NewWriter(f, p, clock, slog.New(slog.DiscardHandler))
	defer w.Stop()
	b := NewIdentityBatcher(p, clock)
	defer b.Stop()
	usage := NewUsageCounter(f, "n1", clock, func(ctx context.Context, e []byte) error {
		_, _, err := p.Propose(ctx, e)
		return err
	}, slog.New(slog.DiscardHandler))
	defer usage.Stop()

	w.Gained()
	var backup []byte
	for i := range n {
		if i == n/4 {
			_, _, err := p.Propose(context.Background(), NewLevelEntry(FormatLevel, clock()))
			require.NoError(t, err)
		}
		switch {
		case i == n/3:
			backup = backupBytes(t, f)
		case i == n/2:
			proposeRestore(t, p, RestorePart{ID: uuid.UUID{byte(r.IntN(256)), 1}, Force: true}, backup, clock())
		case i > n/4 && r.IntN(15) == 0:
			mark, _, err := p.Propose(context.Background(), newMarkEntry())
			require.NoError(t, err)
			hash, known := f.Mark(mark)
			require.True(t, known)
			_, _, err = p.Propose(context.Background(), newVerdictEntry(HashVerdict{Mark: mark, Hash: hash, Agreed: 3}))
			require.NoError(t, err)
		case i > 0 && r.IntN(3) == 0:
			batch := identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte("n1"), Sequence: uint64(1 + r.IntN(n)), Ops: 3},
				randomOps(r, 3))
			_, err := b.Submit(context.Background(), batch, nil)
			require.NoError(t, err)
		case i > 0 && r.IntN(10) == 0:
			usage.Add(1, UsageFlags, 0, "", 3)
			require.NoError(t, usage.Flush(context.Background()))
		default:
			_, err := w.Write(context.Background(), Author{User: 1, Name: "a@b.c"}, func(tx *Tx) error { return randomWrite(tx, r, i) })
			require.NoError(t, err)
		}
	}
	return p.log, f.State().Hash()
}

// proposeRestore proposes a backup in four parts, one of them twice.
func proposeRestore(t testing.TB, p *logProposer, part RestorePart, backup []byte, now time.Time) *RestoreResult {
	t.Helper()
	var last *RestoreResult
	size := len(backup)/4 + 1
	for at := 0; at < len(backup); at += size {
		part.Offset, part.Data = uint64(at), backup[at:min(at+size, len(backup))]
		part.Last = at+size >= len(backup)
		for range 2 {
			_, answer, err := p.Propose(t.Context(), NewRestoreEntry(part, now))
			require.NoError(t, err)
			last = answer.(*RestoreResult)
			require.NoError(t, last.Err)
		}
	}
	return last
}

func randomOps(r *rand.Rand, n int) []byte {
	var ops []byte
	for range n {
		op := identity.Op{
			Kind: identity.KindUpsert, Environment: 1 + uint64(r.IntN(2)), Identifier: fmt.Appendf(nil, "user-%d", r.IntN(50)),
			Traits: []identity.TraitOp{{Key: fmt.Appendf(nil, "k%d", r.IntN(5)), Value: fmt.Appendf(nil, "%d", r.IntN(9))}},
		}
		switch kind := r.IntN(40); {
		case kind < 10:
			op = identity.Op{Kind: identity.KindDelete, Environment: op.Environment, Identifier: op.Identifier}
		case kind < 14:
			op = identity.Op{Kind: identity.KindRename, Environment: op.Environment, Identifier: op.Identifier, NewIdentifier: fmt.Appendf(nil, "user-%d", r.IntN(50))}
		case kind < 18:
			op = identity.Op{Kind: identity.KindSetAlias, Environment: op.Environment, Identifier: op.Identifier, Alias: fmt.Appendf(nil, "alias-%d", r.IntN(9))}
		case kind < 20:
			op = identity.Op{Kind: identity.KindDeleteTraitKey, Environment: op.Environment, Key: op.Traits[0].Key}
		case kind == 20:
			op = identity.Op{Kind: identity.KindDropEnvironment, Environment: op.Environment}
		case kind < 23:
			op.Kind, op.Alias = identity.KindCreate, fmt.Appendf(nil, "alias-%d", r.IntN(9))
		case kind < 26: // by its name or by its id, its trait by key or by id
			op = identity.Op{Kind: identity.KindSetTrait + identity.Kind(r.IntN(2)), Environment: op.Environment, Identity: uint64(r.IntN(60)),
				Identifier: op.Identifier, TraitID: uint64(r.IntN(2) * r.IntN(90)), Key: op.Traits[0].Key, Value: op.Traits[0].Value}
		case kind == 26:
			op = identity.Op{Kind: identity.KindIncrement, Environment: op.Environment, Identifier: op.Identifier, Key: op.Traits[0].Key, Delta: int64(r.IntN(9)) - 4}
		case kind == 27:
			op = identity.Op{Kind: identity.KindSetFlags, Environment: op.Environment, Identifier: op.Identifier, Flags: uint8(r.IntN(4))}
		}
		ops = identity.AppendOp(ops, &op)
	}
	return ops
}

// randomWrite puts and removes rows of random tables. The environment with id 1
// is always there, for the usage counters.
func randomWrite(tx *Tx, r *rand.Rand, i int) error {
	if i == 0 {
		for _, fill := range fillers {
			fill(tx, r)
		}
		Environments.Put(tx, Environment{ID: 1, Name: "e", APIKey: "key", Project: 1})
		return nil
	}
	for range 1 + r.IntN(4) {
		fillers[r.IntN(len(fillers))](tx, r)
	}
	if r.IntN(5) == 0 {
		FeatureStatesByEnvironment.DeleteAll(tx, uint64(r.IntN(20)))
	}
	if r.IntN(3) == 0 {
		tx.Audit(AuditLog{Log: "something", Project: 1, Environment: 1, RelatedObjectType: AuditFeature})
	}
	if r.IntN(5) == 0 {
		op := identity.Op{Kind: identity.KindUpsert, Environment: 1, Identifier: fmt.Appendf(nil, "user-%d", r.IntN(50))}
		if rec, ok := tx.Identities().Environment(1).Lookup(op.Identifier); ok {
			op.ExpectLastChange = rec.LastChange()
		}
		tx.Identity(op, nil)
	}
	return nil
}

// fillers put a random row into each table that transactions write.
var fillers = []func(*Tx, *rand.Rand){
	filler(Organisations), filler(Memberships), filler(MasterAPIKeys), filler(Users), filler(Tokens), filler(Groups),
	filler(SecondFactors), filler(OneTimeTokens),
	filler(GroupMembers), filler(Permissions), filler(Projects), filler(Environments), filler(EnvironmentAPIKeys),
	filler(Tags), filler(Features), filler(MultivariateOptions), filler(FeatureStates), filler(FeatureSegments),
	filler(Segments), filler(AuditLogs), filler(IdempotencyKeys), filler(BackupSchedules), filler(DeletedProjects), filler(DeletedEnvironments),
	filler(MetadataFields), filler(MetadataModelFields), filler(MetadataValues), filler(FeatureHealthProviders), filler(FeatureHealthEvents),
	filler(CodeRepositories), filler(FeatureExports), filler(FeatureImports),
	filler(FeatureVersions), filler(FeatureVersionStates),
	filler(Invites), filler(InviteLinks), filler(EnvironmentOnboardings),
	filler(OAuthClients), filler(OAuthGrants), filler(OAuthTokens),
	filler(Webhooks), filler(WebhookDeliveries),
}

func filler[R any](table Table[R]) func(*Tx, *rand.Rand) {
	return func(tx *Tx, r *rand.Rand) {
		if table.def.level > tx.state.Level() {
			return
		}
		var row R
		randomValue(reflect.ValueOf(&row).Elem(), r, 0)
		*table.id(&row) = uint64(r.IntN(20))
		if e, ok := any(&row).(*Environment); ok && e.ID == 1 {
			return
		}
		if r.IntN(4) == 0 {
			table.Delete(tx, *table.id(&row))
			return
		}
		table.Put(tx, row)
	}
}

func randomValue(v reflect.Value, r *rand.Rand, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", r.IntN(100)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.IntN(20)))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.IntN(20)))
	case reflect.Float64:
		v.SetFloat(r.Float64() * 100)
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomValue(v.Elem(), r, depth+1)
		}
	case reflect.Slice:
		if depth > 4 {
			return
		}
		for range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			randomValue(e, r, depth+1)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Array:
		if v.Type() == reflect.TypeFor[uuid.UUID]() {
			v.Set(reflect.ValueOf(uuid.NewSHA1(uuid.Nil, []byte{byte(r.IntN(256))})))
			return
		}
		for i := range v.Len() {
			randomValue(v.Index(i), r, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				randomValue(v.Field(i), r, depth+1)
			}
		}
	}
}
