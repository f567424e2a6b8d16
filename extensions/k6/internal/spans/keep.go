package spans

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Limits of what is kept, whatever comes.
const (
	spansMost     = 500_000 // spans of the run's messages
	othersMost    = 50_000  // spans of other traces: a later span may link one to a message
	linksMost     = 1_000   // links of a span: larger batches are cut
	namesMost     = 4_000   // different names of spans and services
	hostsMost     = 64
	instancesMost = 1024
	nameMost      = 128 // bytes of a name
)

// Timestamps outside 2000 to 2116 (ns since 1970) are rejected: they are in the wrong unit. One in µs, ms or s would be
// before, and move the clock of its host by decades.
const (
	earliest = 946_684_800_000_000_000
	latest   = 1 << 62
)

// Attributes by OpenTelemetry's semantic conventions.
const (
	serviceName     = "service.name"
	serviceInstance = "service.instance.id"
	hostName        = "host.name"
	operation       = "messaging.operation.type"
	receives        = "receive"
	requestMethod   = "http.request.method"
	messageID       = "messaging.message.id"
)

// trace and spanID are ids as OTLP has them.
type (
	trace  [16]byte
	spanID [8]byte
)

// span is what is kept of a span. Times are ns since 1970 on the clock of its host.
type span struct {
	id, parent    spanID
	start, end    int64
	name, service uint16 // indexes in Keeper.names
	host          uint16 // index in Keeper.hosts
	kind          tracepb.Span_SpanKind
	receives      bool  // a consumer that asks for messages: it may begin before there is one
	calls         bool  // an HTTP request
	of            int   // the message that its attributes name; −1: none
	links         []int // messages that it links to
}

// Keeper keeps the spans of a run's messages, within limits. It may be used from any goroutine.
type Keeper struct {
	mixing   Mixing
	numberOf func(id string) (n int, own bool) // the number of the message with that id

	mu      sync.Mutex
	own     map[trace][]span       // spans of the messages' own traces
	linked  map[trace]map[int]bool // other traces, and the messages that they link to
	batches map[trace][]span       // spans of linked traces
	others  map[trace][]span       // spans of traces that nothing links so far
	order   []trace                // the other traces, the oldest first
	waiting int                    // spans in others
	names   names
	hosts   names           // the first is the generator
	named   map[uint16]bool // hosts whose name is a host's, not a service's
	// instances are the hosts of processes, by service.instance.id: at most instancesMost.
	instances map[string]uint16
	received  runfile.SpansReceived
	kept      int // spans and links, see room
	opened    time.Time
	rhythm    rhythm
}

// names are numbered texts.
type names struct {
	list    []string
	numbers map[string]uint16
	most    int
}

// others is the name of what comes when there are too many names.
const others = "…"

func newNames(most int) names {
	return names{list: []string{"", others}, numbers: map[string]uint16{"": 0, others: 1}, most: most}
}

func (n *names) number(name string) uint16 {
	name = strings.ToValidUTF8(name[:min(len(name), nameMost)], "")
	number, known := n.numbers[name]
	switch {
	case known:
		return number
	case len(n.list) >= n.most:
		return n.numbers[others]
	}
	number = uint16(len(n.list))
	n.list, n.numbers[name] = append(n.list, name), number
	return number
}

// NewKeeper keeps the spans of messages. numberOf is the number in a message's id.
func NewKeeper(mixing Mixing, numberOf func(id string) (int, bool)) *Keeper {
	return &Keeper{
		mixing: mixing, numberOf: numberOf, own: map[trace][]span{}, linked: map[trace]map[int]bool{},
		batches: map[trace][]span{},
		others:  map[trace][]span{}, names: newNames(namesMost), hosts: newNames(hostsMost), named: map[uint16]bool{},
		instances: map[string]uint16{}, opened: time.Now(),
	}
}

// Begin says that spans can come from now on.
func (k *Keeper) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opened = time.Now()
}

// Take keeps the spans of an export that belong to messages, and those of other traces for a while. It returns how many
// it dropped because there is no room, and how many because they are malformed.
func (k *Keeper) Take(all []*tracepb.ResourceSpans) (dropped, malformed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.received
	k.received.Requests++
	for _, of := range all {
		resource := texts(of.GetResource().GetAttributes())
		service := resource[serviceName]
		name := cmp.Or(resource[hostName], resource["k8s.node.name"])
		host := k.hosts.number(cmp.Or(name, resource[serviceInstance], service, "unnamed"))
		k.named[host] = name != ""
		if id := resource[serviceInstance]; id != "" && len(k.instances) < instancesMost {
			k.instances[id] = host
		}
		number := k.names.number(service)
		k.rhythm.hear(number, k.opened)
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				k.received.Spans++
				k.take(s, number, host)
			}
		}
	}
	return k.received.Dropped - before.Dropped, k.received.Malformed - before.Malformed
}

func (k *Keeper) take(s *tracepb.Span, service, host uint16) {
	if len(s.GetTraceId()) != len(trace{}) || len(s.GetSpanId()) != len(spanID{}) ||
		s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() ||
		s.GetStartTimeUnixNano() < earliest || s.GetEndTimeUnixNano() > latest {
		k.received.Malformed++
		return
	}
	attributes := texts(s.GetAttributes())
	own := span{
		id: spanID(s.GetSpanId()), start: int64(s.GetStartTimeUnixNano()), end: int64(s.GetEndTimeUnixNano()),
		name: k.names.number(s.GetName()), service: service, host: host, kind: s.GetKind(), of: -1,
		receives: cmp.Or(attributes[operation], attributes["messaging.operation"]) == receives,
		calls:    cmp.Or(attributes[requestMethod], attributes["http.method"]) != "",
	}
	if len(s.GetParentSpanId()) == len(spanID{}) {
		own.parent = spanID(s.GetParentSpanId())
	}
	if n, ok := k.numberOf(attributes[messageID]); ok {
		own.of = n
	}
	links := s.GetLinks()
	for _, l := range links[:min(len(links), linksMost)] {
		if n, ok := k.mixing.NumberOf(l.GetTraceId()); ok {
			own.links = append(own.links, n)
		}
	}
	in := trace(s.GetTraceId())
	if _, ok := k.mixing.NumberOf(in[:]); ok {
		if len(own.links) > 0 {
			k.link(in, own.links)
		}
		if k.room(&own) {
			k.received.Own++
			k.own[in] = append(k.own[in], own)
		}
		return
	}
	if len(own.links) > 0 && k.kept < spansMost {
		k.link(in, own.links)
	}
	if _, ok := k.linked[in]; ok {
		k.batch(in, &own)
		return
	}
	k.wait(in, own)
}

// room reports whether there is room for one more span, and counts it.
func (k *Keeper) room(s *span) bool {
	if k.kept >= spansMost {
		k.received.Dropped++
		return false
	}
	k.kept += 1 + len(s.links)/8 // the links of a span are as large as the span then
	return true
}

// batch keeps a span of a trace that links to messages.
func (k *Keeper) batch(in trace, s *span) {
	if k.room(s) {
		k.received.Linked++
		k.batches[in] = append(k.batches[in], *s)
	}
}

// link notes that a trace links to messages. Its spans that came before are theirs too.
func (k *Keeper) link(in trace, to []int) {
	if k.linked[in] == nil {
		k.linked[in] = map[int]bool{}
	}
	for _, n := range to {
		if !k.linked[in][n] && k.kept < spansMost {
			k.linked[in][n] = true
			k.kept++
		}
	}
	for i := range k.others[in] {
		k.waiting--
		k.received.Others--
		k.batch(in, &k.others[in][i])
	}
	delete(k.others, in)
}

// wait keeps a span of another trace until there are too many: its parent, which may link to a message, ends later.
func (k *Keeper) wait(in trace, s span) {
	if k.others[in] == nil {
		k.order = append(k.order, in)
	}
	k.others[in] = append(k.others[in], s)
	k.received.Others++
	for k.waiting++; k.waiting > othersMost; {
		oldest := k.order[0]
		k.order = k.order[1:]
		k.waiting -= len(k.others[oldest])
		delete(k.others, oldest)
	}
	if len(k.order) > 2*othersMost { // those that were linked are still in it
		k.order = slices.DeleteFunc(k.order, func(t trace) bool { return k.others[t] == nil })
	}
}

// Refuse counts an export that was refused.
func (k *Keeper) Refuse() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.received.Refused++
}

// Received is what has come so far.
func (k *Keeper) Received() runfile.SpansReceived {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.received
}

// texts are the attributes that are texts.
func texts(attributes []*commonpb.KeyValue) map[string]string {
	all := make(map[string]string, len(attributes))
	for _, a := range attributes {
		if text, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValue); ok {
			all[a.GetKey()] = text.StringValue
		}
	}
	return all
}
