package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/memberlist"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
)

func TestHandshake(t *testing.T) {
	t.Parallel()
	key := func(secret string) []byte {
		keys, err := deriveKeys(secret, defaultClusterName)
		require.NoError(t, err)
		return keys.connection
	}
	for _, c := range []struct {
		name, dialer, listener, target string
		ok                             bool
	}{
		{"no secret", "", "", "", true},
		{"same secret", "s3cret", "s3cret", "", true},
		{"the node that was meant", "s3cret", "s3cret", "node-2", true},
		{"another node", "s3cret", "s3cret", "node-3", false},
		{"another node, no secret", "", "", "node-3", false},
		{"other secret", "s3cret", "S3cret", "", false},
		{"dialer without", "", "s3cret", "", false},
		{"listener without", "s3cret", "", "", false},
	} {
		near, far := net.Pipe()
		admitted := make(chan error, 1)
		var got preface
		go func() {
			p, err := admit(far, key(c.listener), "node-2")
			got = p
			far.Close()
			admitted <- err
		}()
		err := introduce(near, key(c.dialer), purposeCall, "node-1", c.target)
		listenerErr := <-admitted
		if c.ok {
			require.NoError(t, err, c.name)
			require.NoError(t, listenerErr, c.name)
			require.Equal(t, "node-1", got.nodeID)
			require.Equal(t, purposeCall, got.purpose)
		} else {
			require.ErrorIs(t, err, errHandshake, c.name)
			require.ErrorIs(t, listenerErr, errHandshake, c.name)
		}
		near.Close()
	}
}

// A listener that does not know the secret cannot pass for one that does, also
// not by sending the dialer's own proof back.
func TestDialerRefusesAnImpostor(t *testing.T) {
	t.Parallel()
	keys, err := deriveKeys("s3cret", defaultClusterName)
	require.NoError(t, err)
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		if _, err := readPreface(far); err != nil {
			return
		}
		far.Write(append([]byte{verdictOK}, make([]byte, nonceSize)...))
		proof := make([]byte, 32)
		io.ReadFull(far, proof)
		far.Write(append([]byte{verdictOK}, proof...))
	}()
	require.ErrorIs(t, introduce(near, keys.connection, purposeRaft, "n", "m"), errHandshake)
}

func TestProofIsBoundToEverythingSaid(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{1}, 32)
	base := preface{purpose: purposeRaft, nodeID: "a"}
	proofs := map[string]bool{}
	other := base
	other.nonce[0] = 1
	call, named, meant := base, base, base
	call.purpose, named.nodeID, meant.target = purposeCall, "b", "b"
	for _, p := range []preface{base, other, call, named, meant} {
		for _, role := range []string{"dialer", "listener"} {
			for _, listener := range [][]byte{make([]byte, nonceSize), bytes.Repeat([]byte{2}, nonceSize)} {
				proofs[string(p.proof(key, role, listener))] = true
			}
		}
	}
	require.Len(t, proofs, 20)
}

func TestKeysDifferByUse(t *testing.T) {
	t.Parallel()
	keys, err := deriveKeys("s", defaultClusterName)
	require.NoError(t, err)
	require.NotEqual(t, keys.connection, keys.gossip)
	require.Len(t, keys.gossip, 32)
}

func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	encode := func(f *frame) []byte {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		require.NoError(t, writeFrame(w, f))
		require.NoError(t, w.Flush())
		return b.Bytes()
	}
	f := &frame{id: 9, kind: 3, flags: 1, timeout: 77, payload: bytes.Repeat([]byte("x"), 3*frameChunk/2)}
	raw := encode(f)
	got, err := readFrame(bufio.NewReader(bytes.NewReader(raw)), len(f.payload), nil)
	require.NoError(t, err)
	require.Equal(t, f, got)
	_, err = readFrame(bufio.NewReader(bytes.NewReader(raw)), len(f.payload)-1, nil)
	require.ErrorIs(t, err, errFrame)
	_, err = readFrame(bufio.NewReader(bytes.NewReader(raw[:len(raw)-1])), len(f.payload), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = readFrame(bufio.NewReader(strings.NewReader("\x00\x00\x00\x01rest of it")), 100, nil)
	require.ErrorIs(t, err, errFrame, "shorter than its own head")
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0e12345678\x01\x00\x00\x00\x00\x01"))
	f.Add([]byte("\x00\x00\x00\x12\x00\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x02oops"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Add([]byte("\x20\x00\x00\x0e12345678\x01\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		alloc.Bound(t, 4*frameChunk+64*len(raw), func() {
			r := bufio.NewReader(bytes.NewReader(raw))
			for err := error(nil); err == nil; {
				_, err = readFrame(r, 1<<30, nil)
			}
		})
		r := bufio.NewReader(bytes.NewReader(raw))
		for {
			got, err := readFrame(r, 1<<20, nil)
			if err != nil {
				return
			}
			if len(got.payload) > len(raw) {
				t.Fatal("payload longer than the input")
			}
			_, _ = got.answer()
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			_ = writeFrame(w, got)
			_ = w.Flush()
			again, err := readFrame(bufio.NewReader(&b), 1<<20, nil)
			if err != nil || again.id != got.id || !bytes.Equal(again.payload, got.payload) {
				t.Fatalf("round trip: %v", err)
			}
		}
	})
}

// scripted is a connection that says what it was given.
type scripted struct {
	net.Conn
	in *bytes.Reader
}

func (s scripted) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s scripted) Write(p []byte) (int, error) { return len(p), nil }

func FuzzHandshake(f *testing.F) {
	f.Add(preface{purpose: purposeCall, nodeID: "n"}.encode(), false)
	f.Add(append(preface{purpose: purposeRaft, hasSecret: true, nodeID: "n"}.encode(), make([]byte, 32)...), true)
	f.Add(bytes.Repeat([]byte{0}, 100), true)
	keys, err := deriveKeys("s3cret", defaultClusterName)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, secret bool) {
		key := keys.connection
		if !secret {
			key = nil
		}
		alloc.Bound(t, 64<<10+16*len(raw), func() { _, _ = admit(scripted{in: bytes.NewReader(raw)}, key, "n") })
		if _, err := admit(scripted{in: bytes.NewReader(raw)}, key, "n"); err == nil && secret {
			t.Fatal("admitted without the secret")
		}
		if introduce(scripted{in: bytes.NewReader(raw)}, keys.connection, purposeCall, "n", "") == nil {
			t.Fatal("trusted a listener without the secret")
		}
	})
}

func FuzzGossipMeta(f *testing.F) {
	f.Add(encodeMeta(peerInfo{ID: "id", Address: "127.0.0.1:1", Expect: 3, Formed: true}, memberlist.MetaMaxSize))
	f.Add([]byte{0xa1, 0x01, 0x5f})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var p peerInfo
		var err error
		alloc.Bound(t, 64<<10+1000*len(raw), func() { p, err = decodeMeta(raw) })
		if err != nil {
			return
		}
		meta := encodeMeta(p, memberlist.MetaMaxSize)
		if len(meta) > memberlist.MetaMaxSize {
			t.Fatal("too long")
		}
		if meta == nil {
			return // it is too long even without what only informs
		}
		again, err := decodeMeta(meta)
		if err != nil || again.ID != p.ID || again.Address != p.Address || again.Formed != p.Formed {
			t.Fatalf("%+v became %+v: %v", p, again, err)
		}
	})
}

func FuzzMessages(f *testing.F) {
	for _, m := range []any{pledge{"a", "b"}, joinRequest{ID: "a"}, report{ID: "a", Body: []byte("b")}, helloMessage{}} {
		raw, err := cbor.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, m := range []any{&pledge{}, &joinRequest{}, &report{}, &reportReply{}, &helloMessage{}} {
			var err error
			alloc.Bound(t, 64<<10+1000*len(raw), func() { err = cbor.Unmarshal(raw, m) })
			if err != nil {
				continue
			}
			sent, err := cbor.Marshal(m)
			if err != nil {
				t.Fatalf("%+v cannot be sent: %v", m, err)
			}
			again := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			if err := cbor.Unmarshal(sent, again); err != nil {
				t.Fatalf("%+v cannot be read: %v", m, err)
			}
			if resent, err := cbor.Marshal(again); err != nil || !bytes.Equal(sent, resent) {
				t.Fatalf("%x became %x: %v", sent, resent, err)
			}
		}
	})
}

func TestGossipMetaFitsItsLimit(t *testing.T) {
	t.Parallel()
	p := peerInfo{ID: strings.Repeat("i", 36), Address: "a:1", API: strings.Repeat("x", 600), Version: "v"}
	got, err := decodeMeta(encodeMeta(p, memberlist.MetaMaxSize))
	require.NoError(t, err)
	require.Equal(t, "v", got.Version)
	require.Empty(t, got.API, "left out, it only informs")
	require.Equal(t, p.ID, got.ID)
}

// callPair is a caller and a served callee over real connections.
func callPair(t *testing.T, handle Handler) (c *caller, addr string, served chan net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &callee{leading: func() bool { return false }, limit: 1 << 20, log: testLog()}
	s.handlers[1].Store(&handle)
	ctx, cancel := context.WithCancel(context.Background())
	served = make(chan net.Conn, 10)
	done := make(chan struct{})
	var open []chan struct{}
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			end := make(chan struct{})
			open = append(open, end)
			served <- conn
			go func() { defer close(end); s.serve(ctx, conn, "peer"); conn.Close() }()
		}
	}()
	c = newCaller(func(ctx context.Context, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}, 1<<20)
	t.Cleanup(func() {
		c.close()
		cancel()
		l.Close()
		<-done
		for _, end := range open {
			<-end
		}
	})
	return c, l.Addr().String(), served
}

func TestCallClasses(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 10)
	c, addr, served := callPair(t, func(ctx context.Context, _ string, p []byte) ([]byte, error) {
		if string(p) == "hang" {
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return p, nil
	})
	got, err := c.call(t.Context(), addr, 1, 0, []byte("a"))
	require.NoError(t, err)
	require.Equal(t, "a", string(got))

	_, err = c.call(t.Context(), addr, 1, flagLeader, []byte("a"))
	require.ErrorIs(t, err, ErrNotLeader, "this one does not lead")

	// The connection is lost while the call runs: nobody knows.
	failed := make(chan error, 1)
	go func() { _, err := c.call(context.Background(), addr, 1, 0, []byte("hang")); failed <- err }()
	<-entered
	(<-served).Close()
	require.ErrorIs(t, <-failed, ErrUnknownOutcome)

	// The next call dials again.
	got, err = c.call(t.Context(), addr, 1, 0, []byte("b"))
	require.NoError(t, err)
	require.Equal(t, "b", string(got))

	// The caller gives up.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	_, err = c.call(ctx, addr, 1, 0, []byte("hang"))
	require.ErrorIs(t, err, ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)

	// The server's handler sees the caller's deadline.
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.call(ctx, addr, 1, 0, []byte("hang"))
	require.ErrorIs(t, err, ErrUnknownOutcome)

	_, err = c.call(t.Context(), freeAddr(t), 1, 0, nil)
	require.ErrorIs(t, err, ErrUnavailable, "nobody listens there")
	c.close()
	_, err = c.call(t.Context(), addr, 1, 0, nil)
	require.ErrorIs(t, err, ErrStopped)
}

func TestStaleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	c, addr, served := callPair(t, func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
	for i := range 5 {
		got, err := c.call(t.Context(), addr, 1, 0, fmt.Append(nil, i))
		if i > 0 && errors.Is(err, ErrUnknownOutcome) {
			continue // written before the close was seen: said so
		}
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(got))
		(<-served).Close()
		eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return !c.peers[addr].conn.usable()
		})
	}
}

// TestSilenceIsNoTimeOfDay: with a wall clock set back, a connection whose peer is gone would count as just heard from, and used, for as long.
func TestSilenceIsNoTimeOfDay(t *testing.T) {
	t.Parallel()
	c, addr, _ := callPair(t, func(_ context.Context, _ string, p []byte) ([]byte, error) { return p, nil })
	_, err := c.call(t.Context(), addr, 1, 0, nil)
	require.NoError(t, err)
	c.mu.Lock()
	conn := c.peers[addr].conn
	c.mu.Unlock()
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for _, at := range []time.Time{conn.read, conn.used} {
		require.NotEqual(t, at.Round(0), at, "it has no monotonic reading")
	}
}

func TestQuorumContact(t *testing.T) {
	t.Parallel()
	d := newHeartbeatDesk(nil, time.Second)
	d.reset(5)
	voters := []string{"a", "b", "c"}
	require.Zero(t, d.quorumContact("a", voters))
	d.accept(report{ID: "b", Term: 4})
	require.Zero(t, d.quorumContact("a", voters), "b follows another term")
	d.accept(report{ID: "b", Term: 5})
	at := d.reports["b"].at
	require.Equal(t, at, d.quorumContact("a", voters))
	require.Zero(t, d.quorumContact("a", append(voters, "d")), "two of four are no majority")
	require.False(t, d.quorumContact("a", []string{"a"}).IsZero())
	d.reset(6)
	require.Zero(t, d.quorumContact("a", voters))
}

// TestWhoIsSilentIsNotReady, whatever it said last: a process that was killed has nothing else to say.
func TestWhoIsSilentIsNotReady(t *testing.T) {
	t.Parallel()
	d := newHeartbeatDesk(nil, time.Hour)
	d.reset(5)
	for _, id := range []string{"a", "b"} {
		d.accept(report{ID: id, Term: 5, Ready: true, Applied: 7})
	}
	lost := d.reports["b"]
	lost.at = lost.at.Add(-(mergeBeats + 1) * time.Hour)
	d.reports["b"] = lost
	notes := d.notes()
	require.Len(t, notes, 2)
	require.True(t, notes[0].Ready)
	require.False(t, notes[1].Ready)
	require.Equal(t, uint64(7), notes[1].Applied, "what else it said stays")
}

// TestMergeWaitsForAll: a new leader does not take the members that reported first for all there are.
func TestMergeWaitsForAll(t *testing.T) {
	t.Parallel()
	d := newHeartbeatDesk(func(reports map[string][]byte) []byte { return []byte{byte(len(reports))} }, time.Hour)
	d.reset(5)
	merged := func(seen uint64) []byte {
		edition, merged := d.merged(seen, []string{"a", "b", "c"})
		require.Equal(t, merged == nil, edition == seen)
		return merged
	}
	d.accept(report{ID: "a", Ready: true})
	require.Nil(t, merged(4<<32+7), "of the leader before")
	d.accept(report{ID: "b", Ready: true})
	require.Nil(t, merged(0))
	d.accept(report{ID: "c"})
	require.Equal(t, []byte{2}, merged(4<<32+7))
	require.Nil(t, merged(5<<32+1))
	d.accept(report{ID: "c", Ready: true})
	require.Equal(t, []byte{3}, merged(5<<32+1))

	d.reset(6)
	d.period = 0 // as if it had passed: one of them is dead
	d.accept(report{ID: "a", Ready: true})
	require.NotNil(t, merged(5<<32+2))
}
