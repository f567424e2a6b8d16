package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const reports = "../../../../reports/"

var update = flag.Bool("update", false, "regenerate schema.gen.go")

func TestTheEmbeddedSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reports + "contract/run.schema.json")
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, text))
	if *update {
		code := "// Code generated from reports/contract/run.schema.json; DO NOT EDIT.\n\npackage report\n\nconst schema = " + strconv.Quote(compact.String()) + "\n"
		require.NoError(t, os.WriteFile("schema.gen.go", []byte(code), 0o644))
		return
	}
	assert.True(t, compact.String() == schema, "regenerate it: go test ./internal/report -run Schema -update")
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
		{`"lost":0,"pending"`, `"lost":"none","pending"`, "is no valid run: account.lost: got string, want integer"},
		{`"schema":"arrival/run/1"`, `"schema":"arrival/run/2"`, "is no valid run: schema: value must be 'arrival/run/1'"},
		{`"started":"2026`, `"started":"on 2026`, "is no valid run: run.started: "},
		{`{"schema"`, `["schema"`, "is not JSON: "},
	} {
		require.Contains(t, string(text), c.from)
		assert.ErrorContains(t, Validate(bytes.Replace(text, []byte(c.from), []byte(c.to), 1)), c.fault)
	}
	_, err = Read(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}
