package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Another implementation of merge, in TypeScript with hdr-histogram-js, made the goldens. The three
// instances of `whole` pass. In `odd` the first broke a limit, the second is missing, the third was
// cut off, and their hosts and clocks differ.
func TestTheMergedRunEqualsTheGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"whole", "odd"} {
		dir := filepath.Join("testdata", name)
		out := filepath.Join(t.TempDir(), name+"-ts")
		at, r, err := Directories([]string{dir}, out)
		require.NoError(t, err)
		assert.Equal(t, out, at)

		got, want := document(t, filepath.Join(out, "run.json")), document(t, filepath.Join(dir, "golden.json"))
		compare(t, name, want, got)
		junit := withoutAnswer(readFile(t, filepath.Join(out, "junit.xml")), r)
		assert.Equal(t, readFile(t, filepath.Join(dir, "golden.xml")), junit)
		written, err := runfile.Read(out)
		require.NoError(t, err, "the merged run is valid")
		assert.Equal(t, r.Verdict, written.Verdict)
		page, err := render.Shown([]byte(readFile(t, filepath.Join(out, "index.html"))))
		require.NoError(t, err)
		assert.Equal(t, written.Generators, page.Generators)
		compareLogs(t, len(r.Timeline), dir, out)
	}
}

// withoutAnswer removes the answer from a JUnit report, as the goldens have none.
func withoutAnswer(junit string, r *runfile.Run) string {
	junit = strings.Replace(junit, "<system-out>"+r.Answer.Sentence+"&#xA;", "<system-out>", 1)
	return strings.Replace(junit, `message="`+r.Answer.Sentence+`"`, `message="`+r.Verdict.Result+`"`, 1)
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

func document(t *testing.T, file string) (data map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(readFile(t, file)), &data))
	return data
}

// byRank are fields that hdr-histogram-js takes from the sample of the next rank and
// hdrhistogram-go from that of the nearest. compare compares their histograms instead.
var byRank = []string{"p50", "p75", "p90", "p95", "p99", "p999", "curve"}

// extra are fields that the goldens lack.
var extra = []string{"stages", "messages", "tail", "knee", "sampled",
	"steal_percent", "answer", "findings", "carried_per_s", "arrived_99_s", "failed", "taken", "part", "remedy",
	"arrival_bins", "due_bins", "due", "in_flight", "late_max_ms", "meaning", "facts", "doubts", "offered",
	"offered_per_s",
	"host_percent", "stamped"}

// isNoCount reports whether the account counts none of this kind; its counts may be younger than the goldens.
func isNoCount(account map[string]any, name string) bool {
	return account["scheduled"] != nil && account[name] == 0.0
}

func compare(t *testing.T, where string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		require.True(t, ok, where)
		for _, name := range slices.Sorted(maps.Keys(got)) {
			_, known := want[name]
			assert.True(t, known || slices.Contains(extra, name) || isNoCount(got, name), "%s.%s", where, name)
		}
		for name, value := range want {
			switch {
			case name == "histogram" && value != nil:
				assert.Equal(t, counts(t, value), counts(t, got[name]), "%s.%s", where, name)
			case slices.Contains(byRank, name):
				assert.Equal(t, value == nil, got[name] == nil, "%s.%s", where, name)
			default:
				compare(t, where+"."+name, value, got[name])
			}
		}
	case []any:
		require.Len(t, got, len(want), where)
		for i := range want {
			compare(t, fmt.Sprintf("%s[%d]", where, i), want[i], got.([]any)[i])
		}
	case float64:
		assert.InDelta(t, want, got, 1e-9, where)
	default:
		assert.Equal(t, want, got, where)
	}
}

func counts(t *testing.T, histogram any) []int64 {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(histogram.(string)))
	require.NoError(t, err)
	return h.Export().Counts
}

func compareLogs(t *testing.T, seconds int, dir, out string) {
	t.Helper()
	golden := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(golden, runfile.LogName),
		[]byte(readFile(t, filepath.Join(dir, "golden.hlog"))), 0o644))
	want, err := runfile.OpenLog(golden)
	require.NoError(t, err)
	got, err := runfile.OpenLog(out)
	require.NoError(t, err)
	samples := int64(0)
	for second := range seconds {
		a, err := want.At(second)
		require.NoError(t, err)
		b, err := got.At(second)
		require.NoError(t, err)
		require.Len(t, b, len(a))
		for tag, h := range a {
			assert.Equal(t, h.Export().Counts, b[tag].Export().Counts, "%s in second %d", tag, second)
			samples += h.TotalCount()
		}
	}
	assert.Positive(t, samples)
}
