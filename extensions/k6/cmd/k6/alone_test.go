package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// forkPath is the module path of the copy that TestTheModuleBuildsOnItsOwn builds.
const forkPath = "example.com/somebody/arrival"

// Regression: the module built only inside this repository, as the page and types lay outside it.
// The test builds a copy alone, under another module path, in a k6 made as xk6 makes it. It
// downloads nothing: go.sum is this module's.
func TestTheModuleBuildsOnItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	module := filepath.Join(dir, "extensions/k6")
	require.NoError(t, os.CopyFS(module, os.DirFS("../..")))
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	rename := regexp.MustCompile(`(?s)NEW=.*? && gofmt [^\n]*`).Find(readme)
	require.NotNil(t, rename, "README.md lacks the command that changes the module's path")
	in(t, dir, nil, "sh", "-c", strings.Replace(string(rename), "github.com/you/arrival", forkPath, 1))
	assert.Empty(t, in(t, dir, nil, "gofmt", "-l", "."))

	build := filepath.Join(dir, "build")
	require.NoError(t, os.Mkdir(build, 0o755))
	needs, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	_, versions, _ := strings.Cut(string(needs), "\n")
	sums, err := os.ReadFile("../../go.sum")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"go.sum": string(sums),
		"go.mod": "module k6\n" + versions + "\nrequire " + forkPath + "/extensions/k6 v0.0.0\n\nreplace " + forkPath +
			"/extensions/k6 => ../extensions/k6\n",
		"main.go": "package main\n\nimport (\n\t\"go.k6.io/k6/v2/cmd\"\n\n\t_ \"" + forkPath +
			"/extensions/k6\"\n\t_ \"github.com/grafana/xk6-redis\"\n)\n\n" +
			"func main() { cmd.Execute() }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(build, name), []byte(text), 0o600))
	}
	in(t, build, []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off"}, "go", "build", "-buildvcs=false", "-o",
		"../k6", ".")

	pipeline := test.Start(t, &fake.Pipeline{})
	env := []string{
		"K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true", "K6=./k6", "RUN_DIR=run",
		"INGEST_URL=" + pipeline.IngestURL(), "MQTT_URL=" + pipeline.MQTTURL(),
	}
	version := in(t, dir, env, "./k6", "version")
	assert.Contains(t, version, forkPath+"/extensions/k6 (devel), k6/x/arrival [js]")
	assert.NotContains(t, version, "k6/x/mqtt")
	in(t, dir, env, "./k6", "run", "--quiet", "extensions/k6/examples/smoke.js")
	// 99: a busy machine fails the verdict. The script still writes the page.
	output := in(t, dir, env, "sh", "-c", "sh extensions/k6/examples/verdict.sh || test $? = 99")
	assert.Contains(t, output, "arrival_p99 < 1,000 ms")
	for _, name := range []string{"run/index.html", "report.html"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(page), "<title>Arrival report</title>")
		r, err := render.Shown(page)
		require.NoError(t, err)
		assert.Equal(t, 250, r.Account.Arrived)
		assert.Equal(t, runfile.Version, r.Environment["arrival"])
	}
}

// in runs a command in dir, with env added to the test's environment, and returns its output.
func in(t *testing.T, dir string, env []string, command string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", command, args, out)
	return string(out)
}
