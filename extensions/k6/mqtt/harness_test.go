package mqtt

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// eachVersion runs a test with both MQTT versions.
func eachVersion(t *testing.T, test func(t *testing.T, version int)) {
	t.Helper()
	for _, version := range []int{mqtt311, mqtt5} {
		t.Run(protocolName(version), func(t *testing.T) { test(t, version) })
	}
}

type brokerMaker = func(*testing.T, *rules) *testBroker

// eachBroker runs a test with both versions, against the embedded broker and against Mosquitto.
func eachBroker(t *testing.T, test func(t *testing.T, version int, newBroker brokerMaker)) {
	t.Helper()
	for name, maker := range map[string]brokerMaker{"embedded": newBroker, "Mosquitto": newMosquitto} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version int) { test(t, version, maker) })
		})
	}
}

// testBroker is an MQTT broker on a free port of 127.0.0.1: one in this process, or a Mosquitto.
type testBroker struct {
	*broker.Server
	address string
	clients sync.WaitGroup // open connections
}

// rules is the broker's access control; the zero value allows everything.
type rules struct {
	broker.HookBase
	username, password string        // the credentials of the only user; empty: everybody may connect
	noSubscribe        string        // subscriptions to this filter are refused
	noPublish          string        // messages to this topic are refused
	acknowledged       chan struct{} // gets one item per acknowledged message, unless nil
	limit              func(*broker.Capabilities)
}

func (*rules) ID() string { return "rules" }

func (*rules) Provides(b byte) bool {
	return b == broker.OnConnectAuthenticate || b == broker.OnACLCheck || b == broker.OnQosComplete
}

func (r *rules) OnQosComplete(client *broker.Client, _ packets.Packet) {
	if r.acknowledged != nil && !client.Net.Inline {
		r.acknowledged <- struct{}{}
	}
}

func (r *rules) OnConnectAuthenticate(_ *broker.Client, pk packets.Packet) bool {
	return r.username == "" ||
		string(pk.Connect.Username) == r.username && string(pk.Connect.Password) == r.password
}

func (r *rules) OnACLCheck(_ *broker.Client, topic string, write bool) bool {
	if write {
		return r.noPublish == "" || topic != r.noPublish
	}
	return r.noSubscribe == "" || topic != r.noSubscribe
}

func newBroker(t *testing.T, r *rules) *testBroker {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return newBrokerOn(t, r, listener)
}

func newBrokerOn(t *testing.T, r *rules, listener net.Listener) *testBroker {
	t.Helper()
	capabilities := broker.NewDefaultServerCapabilities()
	// High limits, so that the broker itself drops no message.
	capabilities.MaximumClientWritesPending = 1 << 20
	capabilities.MaximumInflight = 65535
	capabilities.ReceiveMaximum = 65535
	if r.limit != nil {
		r.limit(capabilities)
	}
	server := broker.New(&broker.Options{
		Capabilities: capabilities,
		InlineClient: true,
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, server.AddHook(r, nil))
	require.NoError(t, server.Serve())
	b := &testBroker{Server: server, address: listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		b.clients.Wait()
		_ = server.Close()
	})
	return b
}

// serve hands a connection to the broker. The broker's own listener accepts connections while it
// closes, which the race detector reports.
func (b *testBroker) serve(conn net.Conn) {
	b.clients.Add(1)
	go func() {
		defer b.clients.Done()
		_ = b.EstablishConnection("test", conn)
		_ = conn.Close()
	}()
}

// dropClient closes a client's connection as a network failure would.
func (b *testBroker) dropClient(t *testing.T, id string) {
	t.Helper()
	client, ok := b.Clients.Get(id)
	require.True(t, ok, "no client %s", id)
	_ = client.Net.Conn.Close()
}

// closedPort returns an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// script runs JavaScript like one VU: iterations with their own context on k6's event loop.
type script struct {
	*modulestest.Runtime
	t       *testing.T
	logs    *logtest.Hook
	samples chan metrics.SampleContainer
	stop    context.CancelFunc // stops the VU, as k6 does at the end of a scenario

	mu    sync.Mutex
	lines []string // what the script passed to log()
}

// testTimeout ends an iteration that hangs.
const testTimeout = 30 * time.Second

// newScript returns a VU in the init context. Its globals are Client (with the given default
// version of MQTT), mqtt (the default export), broker (the URL), log(…) and text(ArrayBuffer).
func newScript(t *testing.T, version int, b *testBroker) *script {
	t.Helper()
	s := &script{Runtime: modulestest.NewRuntime(t), t: t, samples: make(chan metrics.SampleContainer, 1<<17)}
	logger, hook := logtest.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	s.logs = hook
	s.VU.InitEnvField.Logger = logger

	exports := New().NewModuleInstance(s.VU).Exports()
	rt := s.VU.Runtime()
	require.NoError(t, rt.Set("Client", exports.Named["Client"]))
	require.NoError(t, rt.Set("mqtt", exports.Default))
	if b != nil {
		require.NoError(t, rt.Set("broker", "mqtt://"+b.address))
	}
	require.NoError(t, rt.Set("log", func(values ...any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}))
	_, err := rt.RunString(`globalThis.text = (b) => String.fromCharCode(...new Uint8Array(b))`)
	require.NoError(t, err)
	if version != mqtt311 {
		_, err := rt.RunString(fmt.Sprintf(`globalThis.Client = class extends mqtt.Client {
			constructor(options) { super({ protocol_version: %d, ...options }); }
		}`, version))
		require.NoError(t, err)
	}
	return s
}

// start moves the VU out of the init context.
func (s *script) start(change ...func(*lib.State)) *script {
	s.t.Helper()
	env := s.VU.InitEnvField
	state := &lib.State{
		Options:        lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagProto | metrics.TagURL | metrics.TagMethod)},
		BuiltinMetrics: s.BuiltinMetrics,
		Logger:         env.Logger,
		Dialer: netext.NewDialer(net.Dialer{}, netext.NewResolver(
			net.LookupIP, 0, types.DNSfirst, types.DNSpreferIPv4)),
		Samples: s.samples,
		Tags:    lib.NewVUStateTags(env.Registry.RootTagSet()),
	}
	for _, c := range change {
		c(state)
	}
	s.MoveToVUContext(state)
	vuContext, stop := context.WithTimeout(context.Background(), testTimeout)
	s.t.Cleanup(stop)
	s.VU.CtxField, s.stop = vuContext, stop
	context.AfterFunc(vuContext, func() { s.VU.RuntimeField.Interrupt(context.Canceled) })
	return s
}

// iterate runs one iteration like k6's runner and returns its error.
func (s *script) iterate(code string) error {
	s.t.Helper()
	vuContext := s.VU.CtxField
	ctx, cancel := context.WithCancel(vuContext)
	defer func() { s.VU.CtxField = vuContext }()
	s.VU.CtxField = ctx
	err := s.EventLoop.Start(func() error {
		_, err := s.VU.Runtime().RunString("{" + code + "}")
		return err
	})
	cancel()
	s.EventLoop.WaitOnRegistered()
	require.NotErrorIs(s.t, vuContext.Err(), context.DeadlineExceeded, "the iteration did not end by itself")
	return err
}

// run runs an iteration that must not fail and returns the lines logged so far.
func (s *script) run(code string) []string {
	s.t.Helper()
	require.NoError(s.t, s.iterate(code))
	return s.lines
}

// logged returns k6's log.
func (s *script) logged() string {
	var text strings.Builder
	for _, entry := range s.logs.AllEntries() {
		text.WriteString(entry.Level.String() + " " + entry.Message + "\n")
	}
	return text.String()
}

// collected returns the samples since the last call.
func (s *script) collected() []metrics.Sample {
	var all []metrics.Sample
	for {
		select {
		case container := <-s.samples:
			all = append(all, container.GetSamples()...)
		default:
			return all
		}
	}
}

func dialerOf(state *lib.State) *netext.Dialer { return state.Dialer.(*netext.Dialer) }
