//go:build unix

package spans

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// exportedMessages is a run of five messages, and their spans as three exports each.
func exportedMessages() (*Traced, []*tracepb.ResourceSpans) {
	t := &Traced{
		Asked: Asked{Run: "run", OneIn: 10, All: 1000, OneHost: true,
			Generators: []Generator{{Number: 1, Prefix: "m", Host: "elsewhere"}}}, IDs: map[int]string{},
	}
	var all []*tracepb.ResourceSpans
	for n := range int64(5) {
		in := NewMixing(t.Run).TraceOf(int(n))
		sent := n*10_000 + 100
		for _, m := range []made{
			{service: "worker", id: "put", parent: "work", kind: producer, from: sent + 1000, to: sent + 1100},
			{service: "worker", id: "work", parent: "queue", kind: consumer, from: sent + 600, to: sent + 2000},
			{service: "api", id: "queue", parent: "post", kind: producer, from: sent + 300, to: sent + 400},
			{service: "api", id: "post", parent: "us", kind: server, from: sent + 100, to: sent + 500},
		} {
			all = append(all, m.in(in)...)
		}
		t.Kept = append(t.Kept, arrived(int(n), n*10_000, 1500))
		t.IDs[int(n)] = fmt.Sprint("m", n)
	}
	return t, all
}

var idMember = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([^"]*)"`)

// inHexadecimal is JSON of OTLP as the collector writes it.
func inHexadecimal(t *testing.T, of *tracepb.ResourceSpans) string {
	t.Helper()
	text, err := protojson.Marshal(of)
	require.NoError(t, err)
	return idMember.ReplaceAllStringFunc(strings.ReplaceAll(string(text), `": "`, `":"`), func(member string) string {
		found := idMember.FindStringSubmatch(member)
		id, err := base64.StdEncoding.DecodeString(found[2])
		require.NoError(t, err)
		return fmt.Sprintf("%q:%q", found[1], hex.EncodeToString(id))
	})
}

// inJaeger is a trace for each span, as Jaeger's interface has it.
func inJaeger(of *tracepb.ResourceSpans) map[string]any {
	s := of.ScopeSpans[0].Spans[0]
	in := hex.EncodeToString(s.TraceId)
	return map[string]any{
		"traceID": in, "warnings": nil,
		"processes": map[string]any{"p1": map[string]any{"serviceName": of.Resource.Attributes[0].GetValue().GetStringValue(), "tags": []any{}}},
		"spans": []any{map[string]any{
			"traceID": in, "spanID": hex.EncodeToString(s.SpanId), "operationName": s.Name, "processID": "p1", "flags": 1, "logs": []any{},
			"startTime": s.StartTimeUnixNano / 1000, "duration": s.EndTimeUnixNano/1000 - s.StartTimeUnixNano/1000,
			"references": []any{map[string]any{"refType": "CHILD_OF", "traceID": in, "spanID": hex.EncodeToString(s.ParentSpanId)}},
			"tags": []any{
				map[string]any{"key": "span.kind", "type": "string",
					"value": strings.ToLower(s.Kind.String()[len("SPAN_KIND_"):])},
				map[string]any{"key": "http.status_code", "type": "int64", "value": 202},
			},
		}},
	}
}

// Spans that were exported elsewhere make the stages that they would make at the run's own endpoint.
func TestFilesOfSpansAreAsTheEndpoint(t *testing.T) {
	t.Parallel()
	traced, all := exportedMessages()
	k := traced.Keeper()
	k.Take(all)
	want := k.Describe(traced.Sampling("", Default()))
	require.EqualValues(t, 5, want.Count)

	var lines, tempo, batches strings.Builder
	var jaeger []any
	for i, of := range all {
		fmt.Fprintf(&lines, "{\"resourceSpans\":[%s]}\n", inHexadecimal(t, of))
		text, err := protojson.Marshal(of)
		require.NoError(t, err)
		if i > 0 {
			batches.WriteString(",")
		}
		batches.Write(text)
		jaeger = append(jaeger, inJaeger(of))
	}
	fmt.Fprintf(&tempo, `{"trace":{"resourceSpans":[%s]},"metrics":{}}`, batches.String())
	data, err := json.Marshal(map[string]any{"data": jaeger, "total": 0, "errors": nil})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, traced.Write(dir))
	for name, text := range map[string]string{
		"the collector's":             lines.String(),
		"the collector's, compressed": zipped(t, lines.String()),
		"Tempo's":                     tempo.String(),
		"Tempo's first":               `{"batches":[` + batches.String() + `]}`,
		"Jaeger's":                    string(data),
		"Jaeger's newer":              `{"result":` + strings.TrimSuffix(lines.String()[:strings.Index(lines.String(), "\n")], "\n") + "}" + lines.String(),
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		again, err := ReadTraced(dir)
		require.NoError(t, err)
		assert.Equal(t, traced, again)
		k := again.Keeper()
		require.NoError(t, ReadExported(path, func(all Exported) { k.Take(all) }), name)
		got := k.Describe(again.Sampling("", Default()))
		got.Received = want.Received
		if strings.HasPrefix(name, "Jaeger's newer") {
			assert.EqualValues(t, 5, got.Count, "the first span comes twice: it is one")
			continue
		}
		assert.EqualValues(t, 5, got.Count, name)
		for i, s := range got.Stages {
			assert.InDelta(t, *want.Stages[i].Mean, *s.Mean, 1e-6, "%s: %s", name, s.From)
		}
		assert.Equal(t, sortedClocks(want), sortedClocks(got), name)
		assert.Equal(t, want.Slowest, got.Slowest, name)
	}
}

func TestFilesThatHaveNoSpansAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.Symlink("elsewhere", link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		dir: "not a plain file", link: "not a plain file", pipe: "not a plain file", filepath.Join(dir, "none"): "no such file",
	} {
		assert.ErrorContains(t, ReadExported(path, nil), want)
	}
	resource := func(span string) string { return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span + `]}]}]}` }
	for text, want := range map[string]string{
		"no JSON": "byte 0", "[]": "no", `{"data":{}}`: "list", `{"resourceSpans":1}`: "list",
		resource(`{"traceId":"0g"}`): "hexadecimal", resource(`{"kind":{}}`): "kind",
		`{"data":[{"spans":[{"traceID":"1","spanID":"1","processID":"p"}]}]}`:                      "no process",
		`{"data":[{"processes":{"p":{}},"spans":[{"traceID":"1","spanID":"x","processID":"p"}]}]}`: "hexadecimal",
		`{"data":[` + strings.Repeat("[", 20_000):                                                  "depth",
		strings.Repeat(`{"trace":`, 20_000):                                                        "deep",
		`{"resourceSpans":[{"x":"` + strings.Repeat("x", 2*pieceMost) + `"}]}`:                     "bytes",
		`{"data":[{"x":[` + strings.Repeat("{},", pieceObjectsMost) + `{}]}]}`:                     "objects",
		resource(`{"traceId":"` + strings.Repeat("0", 32) + `"}`)[:60]:                             ErrCut.Error(),
		zipped(t, resource(`{"traceId":"`+strings.Repeat("0", 32)+`"}`))[:40]:                      ErrCut.Error(),
		"\x1f\x8b": "gzip",
	} {
		path := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		assert.ErrorContains(t, ReadExported(path, func(Exported) {}), want, text[:min(60, len(text))])
	}
}

// A file that was cut off is used up to its end.
func TestAFileThatWasCutIsUsedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	_, all := exportedMessages()
	line := fmt.Sprintf("{\"resourceSpans\":[%s]}\n", inHexadecimal(t, all[0]))
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(line+line[:len(line)/2]), 0o600))
	n := 0
	assert.ErrorIs(t, ReadExported(path, func(Exported) { n++ }), ErrCut)
	assert.Equal(t, 1, n)
}

func TestABrokenFileOfTracedMessagesIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := ReadTraced(dir)
	assert.ErrorContains(t, err, "was not asked for spans")
	head := `{"run":"r","one_in":1,"generators":[{"number":1}]}` + "\n"
	for text, want := range map[string]string{
		"": "line 1", "{}\n": "line 1", head + "{}\n": "line 2", head + `{"n":-1,"id":"m","due":1,"arrived":1}`: "line 2", head + "x": "line 2",
		head + strings.Repeat(`{"n":1,"id":"m","due":1,"arrived":1}`+"\n", TracedMost+1): "200000",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, TracedName), []byte(text), 0o600))
		_, err := ReadTraced(dir)
		assert.ErrorContains(t, err, want)
	}
	traced := &Traced{Asked: Asked{Run: "r", OneIn: 1, Generators: []Generator{{Number: 1}}},
		Kept: []ledger.Kept{{Seq: 1, Due: 1, Sent: ledger.Forgotten, Arrived: 2}}, IDs: map[int]string{1: "m"}}
	require.NoError(t, traced.Write(dir))
	again, err := ReadTraced(dir)
	require.NoError(t, err)
	assert.Equal(t, traced, again)
}

// Regression: an exporter that tries again after a time-out, or two files that overlap, sends a span twice.
func TestASpanThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	traced, all := exportedMessages()
	k := traced.Keeper()
	k.Take(all)
	k.Take(all)
	d := k.Describe(traced.Sampling("", Default()))
	assert.EqualValues(t, 5, d.Count, "%+v", d.Marks)
	assert.Len(t, d.Slowest[0].Spans, 4)
}

func TestMarksAreSuggested(t *testing.T) {
	t.Parallel()
	traced, all := exportedMessages()
	k := traced.Keeper()
	k.Take(all)
	for n := range 5 {
		in := k.mixing.TraceOf(n)
		for i := range 3 { // more than one in each message
			k.Take(made{service: "api", id: fmt.Sprint("read", i), parent: "post", kind: client, from: int64(n)*10_000 +
				250, to: int64(n)*10_000 + 260}.in(in))
		}
		k.Take(made{service: "gateway", id: fmt.Sprint("user", n), kind: server, from: int64(n)*10_000 + 150,
			to: int64(n)*10_000 + 2200}.in(in))
	}
	marks := []MarkOption{}
	for _, g := range Suggest(k.Trees(traced.Kept)) {
		if g.Mark != nil {
			marks = append(marks, *g.Mark)
		}
	}
	text, err := json.Marshal(marks)
	require.NoError(t, err)
	assert.JSONEq(t, `[
		{"mark":"received","span":{"kind":"server","name":"/^user[0-9a-fA-F-]+ name$/","service":"gateway"},"at":"start"},
		{"mark":"post_name","span":{"kind":"server","name":"post name","service":"api"},"at":"start"},
		{"mark":"queued","span":{"kind":"producer","name":"queue name","service":"api"},"at":"start"},
		{"mark":"claimed","span":{"kind":"consumer","name":"work name","service":"worker"},"at":"start"},
		{"mark":"published","span":{"kind":"producer","name":"put name","service":"worker"},"at":"start"}]`, string(text))
	table, err := Table(marks)
	require.NoError(t, err)
	d := k.Describe(traced.Sampling("", table))
	assert.EqualValues(t, 5, d.Count, "%+v", d.Marks)
	assert.Len(t, d.Stages, 7)

	other := NewKeeper(NewMixing("none"), func(string) (int, bool) { return 0, false })
	other.Take(all)
	assert.Len(t, Suggest(other.OtherTrees()), 4)
	assert.Equal(t, []*Group{}, Suggest([][]runfile.SpansSpan{}))
}

// The report shows the spans of a pipeline of which none is a mark by default, so that marks can be found.
func TestWithoutMarksTheSlowestAreListedAllTheSame(t *testing.T) {
	t.Parallel()
	k := keeper()
	k.Take(made{service: "api", id: "job", kind: tracepb.Span_SPAN_KIND_INTERNAL, from: 300,
		to: 400}.in(k.mixing.TraceOf(1)))
	d := k.Describe(sampling(k, arrived(1, 0, 1500)))
	assert.Zero(t, d.Count)
	require.Len(t, d.Slowest, 1)
	assert.Len(t, d.Slowest[0].Spans, 1)
	assert.Equal(t, []float64{}, d.Slowest[0].StagesMS)
	assert.InDelta(t, 1.6, d.Slowest[0].ArrivalMS, 1e-9)
}

// framed is the compressed format of the collector's file exporter: the size of each export, and its zstd.
func framed(t *testing.T, exports ...string) (all string) {
	t.Helper()
	for _, text := range exports {
		packed := zstded(t, text)
		all += string(binary.BigEndian.AppendUint32(nil, uint32(len(packed)))) + packed
	}
	return all
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	writer, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, writer.Close()) }()
	return string(writer.EncodeAll([]byte(text), nil))
}

func TestFilesInZstdAreRead(t *testing.T) {
	t.Parallel()
	one := func(id string) string {
		return inHexadecimal(t, made{service: "api", id: id, kind: server, from: 1, to: 2}.in(trace{1})[0])
	}
	first, second := `{"resourceSpans":[`+one("a")+`]}`, `{"resourceSpans":[`+one("b")+"]}\n"
	for name, text := range map[string]string{
		"collector": framed(t, first, second), "whole": zstded(t, first+second),
		"frames": zstded(t, first) + zstded(t, second),
	} {
		path, spans := filepath.Join(t.TempDir(), "spans"), 0
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, ReadExported(path, func(all Exported) { spans += len(all) }), name)
		assert.Equal(t, 2, spans, name)
		if name == "collector" { // the file as a killed collector leaves it
			require.NoError(t, os.WriteFile(path, []byte(text[:len(text)-3]), 0o600))
			spans = 0
			require.ErrorIs(t, ReadExported(path, func(all Exported) { spans += len(all) }), ErrCut)
			assert.Equal(t, 1, spans)
		}
	}
}

// Regression: these were "byte 0: invalid character", and a byte order mark was refused.
func TestFilesOfOtherFormsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x28\xB5\x2F\xFD\x00":                 "in the middle",
		"\x00\x00\x00\x05\x28\xB5\x2F\xFD\x00": "in the middle",
		framed(t, "\x0a\x9c\x01"):              "proto",
		"\x0a\x9c\x01":                         "proto",
		" [{\"traceId\": \"1\"}]":              "Zipkin",
	} {
		path := filepath.Join(t.TempDir(), "spans")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		assert.ErrorContains(t, ReadExported(path, func(Exported) {}), want)
	}
	path := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(path, []byte("\xEF\xBB\xBF{}"), 0o600))
	assert.NoError(t, ReadExported(path, func(Exported) {}))
}
