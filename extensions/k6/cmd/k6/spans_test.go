package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

const spansOfFiles = "import { Run } from 'k6/x/arrival';\nconst run = new Run({ ...JSON.parse(__ENV.RUN), spans: { oneIn: 2 } });\n"

// k6Arrival runs `k6 x arrival`.
func k6Arrival(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(root, "k6"), append([]string{"x", "arrival"}, args...)...)
	command.Env = []string{"HOME=" + t.TempDir(), "K6_AUTO_EXTENSION_RESOLUTION=false"}
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	if command.ProcessState == nil {
		require.NoError(t, err)
	}
	return command.ProcessState.ExitCode(), out.String(), problems.String()
}

// exportOf are two spans of each message: of a server after a quarter of the time until it arrived, and of a worker.
func exportOf(t *testing.T, traced *spans.Traced) string {
	t.Helper()
	var lines strings.Builder
	for _, k := range traced.Kept {
		in := spans.NewMixing(traced.Run).TraceOf(k.Seq)
		span := func(service, id, parent string, kind int, at int64) string {
			return fmt.Sprintf(`{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]},"scopeSpans":[{"spans":[{"traceId":"%x",`+
				`"spanId":%q,"parentSpanId":%q,"name":%q,"kind":%d,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}`,
				service, in, id, parent, "work of "+service, kind, at*1000, at*1000+1)
		}
		quarter := (k.Arrived - k.Sent) / 4
		fmt.Fprintf(&lines, `{"resourceSpans":[%s,%s]}`+"\n", span("api", "00000000000000a1", "", 2, k.Sent+quarter),
			span("worker", "00000000000000a2", "00000000000000a1", 5, k.Sent+2*quarter))
	}
	return lines.String()
}

func TestSpansOfFilesAreJoinedAfterTheRun(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	test.Start(t, f)
	ran := runScript(t, f, strings.Replace(whole, making, spansOfFiles,
		1)+"export function subscriber() { run.collect(); }\n")
	assert.Contains(t, ran.output, "without spans so far")
	traced, err := spans.ReadTraced(ran.dir)
	require.NoError(t, err)
	n := len(traced.Kept)
	require.Positive(t, n)
	file := filepath.Join(t.TempDir(), "spans.json")
	require.NoError(t, os.WriteFile(file, []byte(exportOf(t, traced)), 0o600))
	read := func() *runfile.Run {
		r, err := runfile.Read(ran.dir)
		require.NoError(t, err)
		return r
	}
	before, err := os.ReadFile(filepath.Join(ran.dir, runfile.FileName))
	require.NoError(t, err)

	code, marks, groups := k6Arrival(t, "spans", "--suggest", ran.dir, file)
	require.Zero(t, code, groups)
	assert.Contains(t, groups, "worker consumer work of worker")
	var suggested []spans.MarkOption
	require.NoError(t, json.Unmarshal([]byte(marks), &suggested), marks)
	assert.Len(t, suggested, 2)
	after, err := os.ReadFile(filepath.Join(ran.dir, runfile.FileName))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "it changes nothing")

	code, out, problems := k6Arrival(t, "spans", ran.dir, file)
	require.Zero(t, code, problems)
	assert.Contains(t, out, fmt.Sprintf("%d of %d deliveries of sampled messages (one in 2) have stages", n, n))
	s := read().Spans
	assert.EqualValues(t, n, s.Count)
	assert.Len(t, s.Stages, 4)
	assert.NotNil(t, s.Difference.Mean)

	// Once more with other marks: they take the place of those before.
	table := filepath.Join(t.TempDir(), "marks.json")
	require.NoError(t, os.WriteFile(table, []byte(`[{"mark":"worked","span":{"kind":"consumer"},"at":"end"}]`), 0o600))
	code, _, problems = k6Arrival(t, "spans", "--marks", table, ran.dir, file)
	require.Zero(t, code, problems)
	assert.Len(t, read().Spans.Stages, 3)
	text, err := os.ReadFile(filepath.Join(ran.dir, runfile.MarkdownName))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(text), "deliveries of sampled messages"))
	assert.Contains(t, string(text), "worked")
	code, marks, problems = k6Arrival(t, "spans", "--suggest", ran.dir)
	require.Zero(t, code, problems)
	assert.Contains(t, marks,
		`{"mark":"claimed","span":{"kind":"consumer","name":"work of worker","service":"worker"},"at":"start"}`)

	none := filepath.Join(t.TempDir(), "none.json")
	require.NoError(t, os.WriteFile(none, []byte("{}"), 0o600))
	for want, args := range map[string][]string{
		"as no span of its messages":    {ran.dir},
		"has no spans":                  {ran.dir, none},
		"was not asked for spans":       {filepath.Dir(file), file},
		"is not a list like":            {"--marks", none, ran.dir, file},
		"spans takes the directory of":  {},
		"no span of a message of the r": {"--suggest", filepath.Dir(none) + "/" + runfile.FileName, none},
	} {
		if want == "no span of a message of the r" {
			require.NoError(t, os.WriteFile(args[1], before, 0o600))
			args = args[:2]
		}
		code, _, problems := k6Arrival(t, append([]string{"spans"}, args...)...)
		assert.Equal(t, 1, code, want)
		assert.Contains(t, problems, want)
		assert.Equal(t, 1, strings.Count(strings.TrimSpace(problems), "\n")+1, problems)
	}

	// A run with an endpoint keeps the spans that came, so other marks can divide them later.
	k := traced.Keeper()
	require.NoError(t, spans.ReadExported(file, func(all spans.Exported) { k.Take(all) }))
	require.NoError(t, k.Write(ran.dir, func(n int) string { return traced.IDs[n] }))
	code, out, problems = k6Arrival(t, "spans", "--marks", table, ran.dir)
	require.Zero(t, code, problems)
	assert.Contains(t, out, "worked")
	assert.Len(t, read().Spans.Stages, 3)
	code, marks, problems = k6Arrival(t, "spans", "--suggest", ran.dir)
	require.Zero(t, code, problems)
	assert.Contains(t, marks, `"name":"work of worker"`)
}
