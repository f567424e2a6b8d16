package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// summarySchema is the schema of summary.json, a part of the schema of run.json.
func summarySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(reports + "contract/run.schema.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("run.schema.json", document))
	s, err := c.Compile("run.schema.json#/$defs/summary")
	require.NoError(t, err)
	return s
}

func readJSON(t *testing.T, path string) (size int, value map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &value))
	return len(data), value
}

func TestEachSavedRunHasASummary(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(reports + "testdata/*.json")
	require.NoError(t, err)
	s := summarySchema(t)
	for _, file := range files {
		r, err := runfile.Read(file)
		require.NoError(t, err)
		dir := t.TempDir()
		require.NoError(t, Save(dir, r))
		size, run := readJSON(t, filepath.Join(dir, runfile.FileName))
		small, summary := readJSON(t, filepath.Join(dir, runfile.SummaryName))
		assert.NoError(t, s.Validate(summary), file)
		assert.Less(t, small, 8192, file)
		assert.EqualValues(t, size, summary["run_bytes"], file)
		assert.Equal(t, run["run"], summary["run"], file)
		assert.Equal(t, run["account"], summary["account"], file)
		for _, name := range []string{"count", "p50", "p99"} {
			of := func(one map[string]any) any {
				return one["latency"].(map[string]any)["arrival"].(map[string]any)[name]
			}
			assert.Equal(t, of(run), of(summary), file)
		}
	}
}

func TestFiguresAreAddedToARun(t *testing.T) {
	t.Parallel()
	r, err := runfile.Read(reports + "testdata/real.json")
	require.NoError(t, err)
	dir := t.TempDir()
	r.Verdict.Rules = []runfile.Rule{}
	require.NoError(t, Save(dir, r))
	_, before := readJSON(t, filepath.Join(dir, runfile.FileName))
	figures := []runfile.Figure{{Name: "highest rate", Value: new(1200.0), Unit: "requests/s"}, {Name: "next rate"}}
	probes := []runfile.Probe{{Rate: 1200, Seconds: 15, Held: true, P99: new(41.5)}, {Rate: 1300, Seconds: 15}}
	require.NoError(t, Annotate(dir, runfile.Campaign{Figures: figures, Probes: probes}, "It holds <1200>."))

	size, after := readJSON(t, filepath.Join(dir, runfile.FileName))
	assert.EqualValues(t, len(r.Figures)+2, len(after["figures"].([]any)))
	assert.Len(t, after["probes"], 2)
	delete(before, "figures")
	delete(after, "figures")
	delete(after, "probes")
	titles := after["facts"].(map[string]any)["titles"].(map[string]any)
	assert.Equal(t, "1,200 requests/s held; 1,300 requests/s did not, after 2 runs", titles["search"])
	delete(titles, "search")
	answer, own := after["answer"].(map[string]any), before["answer"].(map[string]any)
	assert.Equal(t, "1,200 requests/s held; 1,300 requests/s did not, after 2 runs. This run: "+own["sentence"].(string),
		answer["sentence"])
	answer["sentence"] = own["sentence"]
	assert.Equal(t, before, after, "nothing else has changed")
	_, summary := readJSON(t, filepath.Join(dir, runfile.SummaryName))
	assert.EqualValues(t, size, summary["run_bytes"])
	page, err := os.ReadFile(filepath.Join(dir, runfile.PageName))
	require.NoError(t, err)
	shown, err := Shown(page)
	require.NoError(t, err)
	assert.Equal(t, "highest rate", shown.Figures[len(r.Figures)].Name)
	text, err := os.ReadFile(filepath.Join(dir, runfile.MarkdownName))
	require.NoError(t, err)
	assert.Contains(t, string(text),
		"- highest rate: 1,200 requests/s\n- next rate: not available\n\nIt holds &lt;1200\\>.\n")

	// What is refused changes nothing.
	held, err := os.ReadFile(filepath.Join(dir, runfile.FileName))
	require.NoError(t, err)
	assert.ErrorContains(t, Annotate(filepath.Join(dir, runfile.FileName), runfile.Campaign{Figures: figures[1:]}, ""),
		`has a figure "next rate" already`)
	refuses := func(found runfile.Campaign, why string) {
		t.Helper()
		assert.ErrorContains(t, Annotate(dir, found, ""), why)
	}
	refuses(runfile.Campaign{Figures: []runfile.Figure{{Name: "a"}, {Name: "a"}}}, "already")
	refuses(runfile.Campaign{Figures: []runfile.Figure{{}}}, "no name")
	refuses(runfile.Campaign{Figures: []runfile.Figure{{Name: "x", Generator: -1}}}, "is not a valid run")
	refuses(runfile.Campaign{Probes: probes}, "has the probes of a search already")
	now, err := os.ReadFile(filepath.Join(dir, runfile.FileName))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(held, now))
	left, err := filepath.Glob(filepath.Join(dir, "*.next"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
