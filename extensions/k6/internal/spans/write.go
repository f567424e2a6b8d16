package spans

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// SpansName is the file of a run's directory that has the spans of its messages that came to its endpoint: OTLP in
// JSON, a resource a line, with gzip. It has what stages are made of: of the attributes only those that are read.
const SpansName = "spans.ndjson.gz"

// lineMost is how many spans a line has.
const lineMost = 1000

// Write writes the spans into a run's directory; without any it writes nothing. id is the id of a message.
func (k *Keeper) Write(dir string, id func(n int) string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.received.Own+k.received.Linked == 0 {
		return nil
	}
	return runfile.Replace(filepath.Join(dir, SpansName), func(w *bufio.Writer) error {
		z := gzip.NewWriter(w)
		for _, resource := range k.resources(id) {
			data := &tracepb.TracesData{ResourceSpans: Exported{resource}}
			line, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
			if err != nil {
				return err
			}
			if _, err := z.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// resources are the spans by service and host, and without spans the instances of services, whose clocks may be known.
func (k *Keeper) resources(id func(n int) string) (all Exported) {
	type from struct{ service, host uint16 }
	lines := map[from]*tracepb.ResourceSpans{}
	for _, of := range []map[trace][]span{k.own, k.batches} {
		for _, in := range slices.SortedFunc(maps.Keys(of), func(a, b trace) int { return bytes.Compare(a[:], b[:]) }) {
			for i := range of[in] {
				s := &of[in][i]
				at := from{s.service, s.host}
				if line := lines[at]; line == nil || len(line.ScopeSpans[0].Spans) == lineMost {
					lines[at] = &tracepb.ResourceSpans{
						Resource:   k.resource(k.names.list[s.service], "", s.host),
						ScopeSpans: []*tracepb.ScopeSpans{{}},
					}
					all = append(all, lines[at])
				}
				scope := lines[at].ScopeSpans[0]
				scope.Spans = append(scope.Spans, k.exported(in, s, id))
			}
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(k.instances)) {
		all = append(all, &tracepb.ResourceSpans{Resource: k.resource("", instance, k.instances[instance])})
	}
	return all
}

func (k *Keeper) resource(service, instance string, host uint16) *resourcepb.Resource {
	r := &resourcepb.Resource{}
	set := func(key, value string) {
		if value != "" {
			r.Attributes = append(r.Attributes, attribute(key, value))
		}
	}
	set(serviceName, service)
	switch {
	case k.named[host]:
		set(hostName, k.hosts.list[host])
		set(serviceInstance, instance)
	case instance != "":
		set(serviceInstance, instance)
	default:
		set(serviceInstance, k.hosts.list[host])
	}
	return r
}

func (k *Keeper) exported(in trace, s *span, id func(n int) string) *tracepb.Span {
	e := &tracepb.Span{
		TraceId: traces.InHex(in[:]), SpanId: traces.InHex(s.id[:]), Name: k.names.list[s.name], Kind: s.kind,
		StartTimeUnixNano: uint64(s.start), EndTimeUnixNano: uint64(s.end),
	}
	if s.parent != (spanID{}) {
		e.ParentSpanId = traces.InHex(s.parent[:])
	}
	if s.receives {
		e.Attributes = append(e.Attributes, attribute(operation, receives))
	}
	if s.calls {
		e.Attributes = append(e.Attributes, attribute(requestMethod, "_OTHER"))
	}
	if s.of >= 0 {
		e.Attributes = append(e.Attributes, attribute(messageID, id(s.of)))
	}
	for _, n := range s.links {
		to := k.mixing.TraceOf(n)
		e.Links = append(e.Links, &tracepb.Span_Link{TraceId: traces.InHex(to[:]),
			SpanId: traces.InHex(make([]byte, len(spanID{})))})
	}
	return e
}

// Copy writes the spans of several directories into one; where none has any it writes nothing.
func Copy(dirs []string, out string) error {
	var found []string
	for _, dir := range dirs {
		path := filepath.Join(dir, SpansName)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return runfile.Replace(filepath.Join(out, SpansName), func(w *bufio.Writer) error {
		z := gzip.NewWriter(w)
		for _, path := range found {
			if err := appendFile(z, path); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

func appendFile(w io.Writer, path string) error {
	f, err := runfile.OpenStream(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(w, f)
	return err
}
