package spans

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key,
		Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func resourceOf(service string) *resourcepb.Resource {
	r := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", service)}}
	if strings.HasPrefix(service, "away") {
		r.Attributes = append(r.Attributes, text("host.name", service))
	}
	return r
}

var epoch = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// at is a moment µs after epoch, on a clock that is ahead.
func at(us int64, ahead time.Duration) uint64 {
	return uint64(epoch.Add(time.Duration(us)*time.Microsecond + ahead + 7).UnixNano()) // + 7 ns: no whole ms
}

// made is a span for tests; id and parent are short texts.
type made struct {
	service, id, parent string
	kind                tracepb.Span_SpanKind
	from, to            int64 // µs since epoch
	ahead               time.Duration
	attributes          []*commonpb.KeyValue
	links               []trace
}

func (m made) in(t trace) []*tracepb.ResourceSpans {
	id := func(text string) []byte {
		if text == "" {
			return nil
		}
		return fmt.Appendf(nil, "%-8s", text)[:8]
	}
	s := &tracepb.Span{
		TraceId: t[:], SpanId: id(m.id), ParentSpanId: id(m.parent), Kind: m.kind, Name: m.id + " name",
		Attributes: m.attributes, StartTimeUnixNano: at(m.from, m.ahead), EndTimeUnixNano: at(m.to, m.ahead),
	}
	for _, l := range m.links {
		s.Links = append(s.Links, &tracepb.Span_Link{TraceId: l[:], SpanId: id("link")})
	}
	return export(m.service, s)
}

func sampling(k *Keeper, kept ...ledger.Kept) Sampling {
	return Sampling{
		Asked: Asked{OneIn: 10, All: 1000, OneHost: true, Generators: []Generator{{Number: 1, Host: "here"}}},
		Table: Default(), Kept: kept, ID: func(n int) string { return fmt.Sprint("m", n) },
	}
}

// arrived is a message that is due at a time, sent 100 µs later, and arrives after that.
func arrived(n int, due, after int64) ledger.Kept {
	base := epoch.UnixMicro()
	return ledger.Kept{Seq: n, Due: base + due, Sent: base + due + 100, Arrived: base + due + 100 + after}
}

func keeper() *Keeper {
	return NewKeeper(NewMixing("run"),
		func(id string) (n int, own bool) { _, err := fmt.Sscanf(id, "m%d", &n); return n, err == nil })
}

// take keeps the spans of a message of a pipeline with four marks, which took 1, 2, 3, 4 and 5 (× scale) to the next.
func take(k *Keeper, n int, sent, scale int64, ahead ...time.Duration) (after int64) {
	api, worker := time.Duration(0), time.Duration(0)
	names := []string{"api", "worker"}
	if len(ahead) == 2 {
		api, worker = ahead[0], ahead[1]
		names = []string{"away-api", "away-worker"}
	}
	in := k.mixing.TraceOf(n)
	for _, m := range []made{
		{service: names[1], id: "put", parent: "work", kind: producer, from: sent + 10*scale, to: sent + 11*scale,
			ahead: worker},
		{service: names[1], id: "work", parent: "queue", kind: consumer, from: sent + 6*scale, to: sent + 20*scale,
			ahead: worker},
		{service: names[0], id: "queue", parent: "post", kind: producer, from: sent + 3*scale, to: sent + 4*scale,
			ahead: api},
		{service: names[0], id: "post", parent: "us", kind: server, from: sent + scale, to: sent + 5*scale, ahead: api},
	} {
		k.Take(m.in(in))
	}
	return 15 * scale
}

func TestStagesOfSampledMessagesSumToTheirArrival(t *testing.T) {
	t.Parallel()
	k, kept := keeper(), []ledger.Kept{}
	for n := range int64(50) {
		after := take(k, int(n), n*10_000+100, 100+n)
		kept = append(kept, arrived(int(n), n*10_000, after))
	}
	d := k.Describe(sampling(k, kept...))
	require.EqualValues(t, 50, d.Count)
	var ends []string
	sum := 0.0
	for _, s := range d.Stages {
		ends = append(ends, s.From+"-"+s.To)
		sum += *s.Mean
	}
	assert.Equal(t, []string{"due-sent", "sent-received", "received-queued", "queued-claimed", "claimed-published",
		"published-arrived"}, ends)
	assert.InDelta(t, *d.Arrival.Mean, sum, 1e-9)
	assert.InDelta(t, 0.1, *d.Stages[0].Mean, 1e-9)
	assert.InDelta(t, 2*0.1245, *d.Stages[2].Mean, 1e-9)
	assert.InDelta(t, 0, *d.Stages[0].Error, 1e-9)
	assert.Positive(t, *d.Stages[1].Error)
	require.Len(t, d.Slowest, slowestMost)
	slow := d.Slowest[0]
	assert.Equal(t, "m49", slow.ID)
	of := k.mixing.TraceOf(49)
	assert.Equal(t, fmt.Sprintf("%x", of), slow.Trace)
	var tree []string
	for _, s := range slow.Spans {
		tree = append(tree, fmt.Sprintf("%d %s %s", s.Depth, s.Service, s.Kind))
	}
	assert.Equal(t, []string{"0 api server", "1 api producer", "2 worker consumer", "3 worker producer"}, tree)
	assert.Equal(t, []runfile.SpansClock{
		{Host: "api", Basis: runfile.SameHost}, {Host: "worker", Basis: runfile.SameHost},
	}, sortedClocks(d))
}

func sortedClocks(d *runfile.Spans) []runfile.SpansClock {
	all := d.Clocks
	if len(all) == 2 && all[0].Host > all[1].Host {
		all[0], all[1] = all[1], all[0]
	}
	return all
}

func TestMarksThatAreMissingTwiceOrOutOfOrderAreCounted(t *testing.T) {
	t.Parallel()
	k, kept := keeper(), []ledger.Kept{}
	for n := range int64(10) {
		kept = append(kept, arrived(int(n), n*10_000, take(k, int(n), n*10_000+100, 100)))
	}
	kept = append(kept, arrived(10, 0, 1500)) // no span
	k.Take(made{service: "api", id: "post", kind: server, from: 200, to: 300}.in(k.mixing.TraceOf(11)))
	kept = append(kept, arrived(11, 0, 1500)) // three marks less
	take(k, 12, 100, 100)
	k.Take(made{service: "worker", id: "again", parent: "queue", kind: consumer, from: 900,
		to: 950}.in(k.mixing.TraceOf(12)))
	kept = append(kept, arrived(12, 0, 1500)) // a second attempt
	take(k, 13, 50_000, 100)
	kept = append(kept, arrived(13, 100_000, 1500)) // received before it was sent
	d := k.Describe(sampling(k, kept...))
	assert.Equal(t, 14, d.Sampled)
	assert.Equal(t, 13, d.Traced)
	assert.EqualValues(t, 10, d.Count)
	got := map[string][3]int{}
	for _, m := range d.Marks {
		got[m.Mark] = [3]int{m.Missing, m.Twice, m.Disordered}
	}
	assert.Equal(t, map[string][3]int{"received": {0, 0, 1}, "queued": {1, 0, 0}, "claimed": {1, 1, 0},
		"published": {1, 0, 0}}, got)
}

// A consumer of a batch has its own trace, which links to the messages. Its children come first, as they end first.
func TestLinksOfBatchesAreFollowed(t *testing.T) {
	t.Parallel()
	k := keeper()
	batch := trace([]byte("a batch of two  "))
	both := []trace{k.mixing.TraceOf(1), k.mixing.TraceOf(2)}
	for n := range 3 {
		in := k.mixing.TraceOf(n)
		k.Take(made{service: "api", id: "queue", parent: "post", kind: producer, from: 300, to: 400}.in(in))
		k.Take(made{service: "api", id: "post", parent: "us", kind: server, from: 200, to: 450}.in(in))
	}
	for n := 1; n <= 2; n++ {
		id := []*commonpb.KeyValue{text("messaging.message.id", fmt.Sprint("m", n))}
		k.Take(made{service: "worker", id: fmt.Sprint("put", n), parent: "poll", kind: producer, from: 900 + int64(n),
			to: 950, attributes: id}.in(batch))
	}
	require.Equal(t, 2, k.Received().Others)
	k.Take(made{service: "worker", id: "poll", kind: consumer, from: 600, to: 1000, links: both}.in(batch))
	k.Take(made{service: "worker", id: "tidy", kind: producer, from: 600, to: 1000}.in(batch)) // nobody's
	assert.Equal(t, runfile.SpansReceived{Requests: 10, Spans: 10, Own: 6, Linked: 4}, k.Received())
	d := k.Describe(sampling(k, arrived(1, 0, 1500), arrived(2, 0, 1500)))
	assert.EqualValues(t, 2, d.Count)
	assert.Len(t, d.Stages, 6)
	assert.InDelta(t, 0.3015, *d.Stages[4].Mean, 1e-9, "each has its own producer span")
}

// Clocks of two hosts are 20 ms ahead and 35 ms behind; the traces bound both.
func TestClocksOfHostsAreBoundedByTheTraces(t *testing.T) {
	t.Parallel()
	k, kept := keeper(), []ledger.Kept{}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range int64(200) {
		after := take(k, int(n), n*10_000+100, 20+random.Int64N(200), 20*time.Millisecond, -35*time.Millisecond)
		kept = append(kept, arrived(int(n), n*10_000, after))
	}
	d := k.Describe(sampling(k, kept...))
	require.EqualValues(t, 200, d.Count)
	clocks := sortedClocks(d)
	for i, want := range []float64{20, -35} {
		assert.Equal(t, runfile.ByTraces, clocks[i].Basis)
		assert.InDelta(t, want, clocks[i].OffsetMS, clocks[i].BoundMS, "within its bound")
		assert.Less(t, clocks[i].BoundMS, 1.0)
	}
	sum := 0.0
	for _, s := range d.Stages {
		sum += *s.Mean
	}
	assert.InDelta(t, *d.Arrival.Mean, sum, 1e-9)
	assert.Positive(t, d.Stages[3].Bound, "from the one host to the other")
	assert.Zero(t, d.Stages[2].Bound, "within one host")
}

// Redis' clock is known better than traces of slow hops tell.
func TestClocksOfProcessesAreKnownByThatOfRedis(t *testing.T) {
	t.Parallel()
	k, kept := keeper(), []ledger.Kept{}
	for n := range int64(50) {
		after := take(k, int(n), n*10_000+100, 200, 20*time.Millisecond, -35*time.Millisecond)
		kept = append(kept, arrived(int(n), n*10_000, after))
	}
	s := sampling(k, kept...)
	process := export("relay")
	process[0].Resource.Attributes = []*commonpb.KeyValue{text("host.name", "away-worker"),
		text("service.instance.id", "worker-1")}
	k.Take(process)
	traced := sortedClocks(k.Describe(s))
	require.Greater(t, traced[1].BoundMS, 0.1)
	offset := traced[1].OffsetMS
	s.Clocks = []Clock{{Instance: "worker-1", OffsetMS: offset - 0.02, BoundMS: 0.03},
		{Instance: "nobody", OffsetMS: 9}}
	clocks := sortedClocks(k.Describe(s))
	assert.Equal(t, runfile.ByTraces, clocks[0].Basis)
	assert.Equal(t, runfile.ByRedis, clocks[1].Basis)
	assert.InDelta(t, offset-0.02, clocks[1].OffsetMS, 0.002)
	assert.InDelta(t, 0.03, clocks[1].BoundMS, 0.002)

	s.Clocks[0].OffsetMS = offset + 90
	assert.Equal(t, runfile.Disagree, sortedClocks(k.Describe(s))[1].Basis)
}

func TestATableOfMarks(t *testing.T) {
	t.Parallel()
	row := func(mark, kind, name, at string) (o MarkOption) {
		o.Mark, o.Span.Kind, o.Span.Name, o.At = mark, kind, name, at
		return o
	}
	table, err := Table([]MarkOption{row("taken", "", "/^work/", ""), row("done", "consumer", "work name", "end")})
	require.NoError(t, err)
	k := keeper()
	take(k, 1, 100, 100)
	s := sampling(k, arrived(1, 0, 2500))
	s.Table = table
	d := k.Describe(s)
	require.EqualValues(t, 1, d.Count)
	assert.Equal(t, "done", d.Stages[3].From)
	assert.InDelta(t, 1.4, *d.Stages[2].Mean, 1e-9)
	for _, wrong := range [][]MarkOption{
		{row("Taken", "server", "", "")}, {row("taken", "sever", "", "")}, {row("taken", "", "", "")},
		{row("taken", "server", "/(/", "")},
		{row("taken", "server", "", "middle")}, {row("sent", "server", "", "")},
		{row("a", "server", "", ""), row("a", "client", "", "")},
	} {
		_, err := Table(wrong)
		assert.ErrorContains(t, err, "spans.marks", wrong)
	}
}

// A context that leaks out of a consumer's loop does this. Regression: the time grew with the square of the messages.
func TestAConsumerWithOneTraceForAllMessages(t *testing.T) {
	t.Parallel()
	k := keeper()
	shared := trace{1, 2, 3}
	const messages = 20_000
	var kept []ledger.Kept
	for n := range messages {
		sent := int64(1000 * n)
		own := k.mixing.TraceOf(n)
		k.Take(made{service: "api", id: "s", kind: server, from: sent + 200, to: sent + 500}.in(own))
		k.Take(made{service: "api", id: "p", parent: "s", kind: producer, from: sent + 300, to: sent + 400}.in(own))
		k.Take(made{service: "worker", id: fmt.Sprint("c", n), kind: consumer, from: sent + 500, to: sent + 900,
			links: []trace{own}}.in(shared))
		kept = append(kept, arrived(n, sent-100, 1000))
	}
	d := k.Describe(sampling(k, kept...))
	assert.Equal(t, messages, d.Traced)
}
