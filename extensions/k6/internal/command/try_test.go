package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/cmd/state"
)

func TestATryHasTheSettingsOfItsFileAndFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "my.yml")
	require.NoError(t, os.WriteFile(path, []byte("ingest: {url: http://h}\nverify: off"), 0o600))
	gs := &state.GlobalState{Env: map[string]string{"TLS_CA": "ca.pem", "RUN_DIR": dir, "K6_VUS": "3", "HOME": "/root"}}
	env, err := tryEnvironment(gs, []string{path}, []string{"VERIFY=1"})
	require.NoError(t, err)
	absolute, err := filepath.Abs("ca.pem")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"TLS_CA": absolute, "HOME": "/root", "INGEST_URL": "http://h",
		state.AutoExtensionResolution: "false", "ARRIVAL_GIVEN": "VERIFY"}, env)

	given := []string{"TLS_CA=other.pem"}
	_, err = tryEnvironment(gs, []string{path}, given)
	require.NoError(t, err)
	assert.Equal(t, []string{"TLS_CA=" + filepath.Join(filepath.Dir(absolute), "other.pem")}, given,
		"a path after -e is seen from here too")

	for says, args := range map[string][][]string{
		"-e VERIFY sets nothing":    {{path}, {"VERIFY"}},
		"where are messages posted": {nil, {"VERIFY=off"}},
		"can't be read":             {{filepath.Join(dir, "none.yml")}, nil},
	} {
		_, err := tryEnvironment(gs, args[0], args[1])
		require.ErrorContains(t, err, says)
	}
}

func TestAScriptsErrorHasNoStackTrace(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	plainly(strings.NewReader("GoError: body has no {{id}} at /x\n\tat github.com/arrival-bench/x (native)\n"+
		"\tat file:///-:1:23(45)\n\nError: FILTER is for ARRIVE=mqtt\nat first\n"), &printed)
	assert.Equal(t, "body has no {{id}} at /x\nFILTER is for ARRIVE=mqtt\nat first\n", printed.String())
}

// Regression: a line of more than 1 MB, like a script's own, and all lines after it were not printed.
func TestALongLineIsPrinted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20)
	var printed bytes.Buffer
	plainly(strings.NewReader(long+"\nError: the cause"), &printed)
	assert.Equal(t, long+"\nthe cause\n", printed.String())
}
