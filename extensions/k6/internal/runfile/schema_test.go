package runfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

const reports = "../../../../reports/"

var update = flag.Bool("update", false, "regenerate what is made from reports/contract")

func TestTheEmbeddedSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "contract/run.schema.json")
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, text))
	if *update {
		code := "// Code generated from reports/contract/run.schema.json; DO NOT EDIT.\n\npackage runfile\n\nconst schema = " + strconv.Quote(compact.String()) + "\n"
		require.NoError(t, os.WriteFile("schema.gen.go", []byte(code), 0o644))
		return
	}
	assert.True(t, compact.String() == schema, "regenerate it: go test ./internal/runfile -run UpToDate -update")
}

func TestTheSharedNumbersAreUpToDate(t *testing.T) {
	t.Parallel()
	sharedNumbers(t, "limits", "limit")
	sharedNumbers(t, "judging", "")
	assert.EqualValues(t, ledger.Highest, limitHistogramHighestUS, "a run's histograms are read again")
}

// sharedNumbers compares a file of numbers of the contract with the constants made from it.
func sharedNumbers(t *testing.T, file, prefix string) {
	t.Helper()
	text, err := os.ReadFile(reports + "contract/" + file + ".json")
	require.NoError(t, err)
	var numbers map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&numbers))
	var code bytes.Buffer
	_, _ = fmt.Fprintf(&code,
		"// Code generated from reports/contract/%s.json; DO NOT EDIT.\n\npackage runfile\n\n// %s\nconst (\n",
		file, numbers["description"])
	delete(numbers, "description")
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		_, _ = fmt.Fprintf(&code, "\t%s%s = %s\n", prefix, camelCase(name), numbers[name])
	}
	code.WriteString(")\n")
	want, err := format.Source(code.Bytes())
	require.NoError(t, err)
	path := file + ".gen.go"
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o644))
		return
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "regenerate it: go test ./internal/runfile -run UpToDate -update")
}

// camelCase turns histogram_highest_us into HistogramHighestUS.
func camelCase(name string) (all string) {
	for word := range strings.SplitSeq(name, "_") {
		if word == "json" || word == "us" {
			all += strings.ToUpper(word)
		} else {
			all += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return all
}

// What Go always writes is there in every run, so no reader handles its absence.
func TestARunWithoutWhatIsAlwaysWrittenIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "testdata/passing.json")
	require.NoError(t, err)
	for _, path := range []string{"stages", "knee", "figures", "targets", "run.protocol", "account.misdelivered",
		"account.requests.failed", "health.lateness", "health.arrival_stamps", "steps.0.due", "steps.0.carried_per_s",
		"timeline.0.due", "timeline.0.in_flight", "verdict.rules.0.part", "environment.git"} {
		var run map[string]any
		require.NoError(t, json.Unmarshal(text, &run))
		names := strings.Split(path, ".")
		place, name := strings.Join(names[:len(names)-1], "."), names[len(names)-1]
		at := any(run)
		for _, name := range names[:len(names)-1] {
			if list, is := at.([]any); is {
				at = list[0]
				continue
			}
			at = at.(map[string]any)[name]
		}
		delete(at.(map[string]any), name)
		data, err := json.Marshal(run)
		require.NoError(t, err)
		want := strings.TrimPrefix(place+": missing property '"+name+"'", ": ")
		assert.EqualError(t, Validate(data), "is not a valid run: "+want)
	}
}

func TestOnlyValidRunsAreAccepted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(reports + "testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		_, err := Read(file)
		assert.NoError(t, err)
	}
	text, err := os.ReadFile(reports + "testdata/real.json")
	require.NoError(t, err)
	for _, c := range []struct{ from, to, fault string }{
		{`"lost":0,"pending"`, `"lost":"none","pending"`, "is not a valid run: account.lost: got string, want integer"},
		{`"schema":"arrival/run/1"`, `"schema":"arrival/run/2"`,
			"is not a valid run: schema: value must be 'arrival/run/1'"},
		{`"started":"2026`, `"started":"on 2026`, "is not a valid run: run.started: "},
		{`{"schema"`, `["schema"`, "is not JSON: "},
	} {
		require.Contains(t, string(text), c.from)
		assert.ErrorContains(t, Validate(bytes.Replace(text, []byte(c.from), []byte(c.to), 1)), c.fault)
	}
	// Regression: a number beyond all floats was a panic of the validator.
	for _, number := range []string{"1e999", "-1e999", "1e999999999", "NaN", "Infinity"} {
		for _, member := range []string{`"memory_mb":`, `"lost":`, `"p99":`} {
			require.Contains(t, string(text), member)
			err := Validate(bytes.Replace(text, []byte(member), []byte(member+number+`,"x":`), 1))
			assert.Error(t, err, member+number)
		}
	}
	// Deep nesting, and a document behind the run.
	assert.ErrorContains(t, Validate(slices.Concat(bytes.Repeat([]byte("["), 1e6), bytes.Repeat([]byte("]"), 1e6))),
		"is not JSON")
	assert.ErrorContains(t, Validate(append(bytes.Clone(text), '{')), "is not JSON")
	_, err = Read(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Regression: the validator kept every fault of a list that is not a member of the run itself: 5 GB for 45 MB.
func TestOfALargeRunTheFirstFaultIsNamedAlone(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "testdata/own-stages.json")
	require.NoError(t, err)
	const many = 30_000
	elements := func(one any) []any { return slices.Repeat([]any{one}, many) }
	members := func(one any) map[string]any {
		all := map[string]any{}
		for i := range many {
			all[fmt.Sprintf("m%06d", i)] = one
		}
		return all
	}
	for name, c := range map[string]struct {
		change func(run map[string]any)
		fault  string // empty: none
	}{
		"a list of the run": {func(run map[string]any) {
			rows := run["timeline"].([]any)
			run["timeline"] = append(slices.Repeat(rows, 1000/len(rows)+1)[:1000], elements(map[string]any{})...)
		}, "timeline.1000: missing properties"},
		"a valid list of the run": {func(run map[string]any) {
			rows := run["timeline"].([]any)
			run["timeline"] = slices.Repeat(rows, 1000/len(rows)+1)
		}, ""},
		"a list in an object": {func(run map[string]any) {
			run["verdict"].(map[string]any)["reasons"] = append(elements("slow"), elements(1)...)
		}, "verdict.reasons.30000: got number, want string"},
		"a list of lists": {func(run map[string]any) {
			arrival := run["latency"].(map[string]any)["arrival"].(map[string]any)
			arrival["curve"] = append(elements([]any{1, 2}), elements([]any{1, 2, 3})...)
		}, "latency.arrival.curve.30000: "},
		"an object of the wrong members": {func(run map[string]any) {
			run["run"].(map[string]any)["labels"] = members(1)
		}, "run.labels.m000000: got number, want string"},
		"an object of valid members": {func(run map[string]any) {
			run["run"].(map[string]any)["labels"] = members("one")
		}, ""},
		"unknown members": {func(run map[string]any) {
			maps.Copy(run, members(nil))
		}, "additional properties"},
		"a list that is too long": {func(run map[string]any) {
			run["stages"] = slices.Repeat(run["stages"].([]any)[:1], many)
		}, "stages: maxItems: got 30,000, want 12"},
		"behind an alternative": {func(run map[string]any) {
			run["clock"] = members(1)
		}, "clock: "},
		"the names of an object": {func(run map[string]any) {
			run["latency"].(map[string]any)["stages"] = members(nil)
		}, "latency.stages.m000000"},
		"a text": {func(run map[string]any) {
			run["schema"] = strings.Repeat("x", many)
		}, "schema: value must be"},
		"a list of the wrong kind": {func(run map[string]any) {
			run["account"] = elements(1)
		}, "account: got array, want object"},
	} {
		var run map[string]any
		require.NoError(t, json.Unmarshal(text, &run))
		c.change(run)
		whole, err := json.Marshal(run)
		require.NoError(t, err)
		err = Validate(whole)
		if c.fault == "" {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.fault, name)
		assert.Less(t, len(err.Error()), 1000, name)
		assert.NotContains(t, err.Error(), " more)", name)
	}
}
