package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPipelineFileIsAFlagOfRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my.yml")
	require.NoError(t, os.WriteFile(path, []byte("ingest: {url: http://h}\nverify: off"), 0o600))
	for _, flag := range []string{"--pipeline " + path, "--pipeline=" + path} {
		args := strings.Fields("k6 run -e VERIFY=1 " + flag + " ramp.js")
		rest, all, err := withPipeline(args, environment(""))
		require.NoError(t, err)
		assert.Equal(t, strings.Fields("k6 run -e VERIFY=1 ramp.js"), rest)
		require.Len(t, all, 1, "-e stands before the file")
		assert.Equal(t, "INGEST_URL", all[0].Name)
	}
	for _, command := range []string{"k6 x arrival check --pipeline y", "k6", "k6 run ramp.js"} {
		rest, _, err := withPipeline(strings.Fields(command), environment(""))
		require.NoError(t, err)
		assert.Equal(t, command, strings.Join(rest, " "))
	}
	_, _, err := withPipeline(strings.Fields("k6 run ramp.js --pipeline"), environment(""))
	require.ErrorContains(t, err, "--pipeline has no value")
	_, _, err = withPipeline([]string{"k6", "run", "--pipeline", path}, environment("INGEST_URL=http://other"))
	require.ErrorContains(t, err, "my.yml:1:15: ingest.url is INGEST_URL, which has another value in the environment")
}
