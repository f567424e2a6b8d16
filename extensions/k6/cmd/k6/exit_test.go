package main

import (
	"context"
	"encoding/json"
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
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

const (
	making = "import { Run } from 'k6/x/arrival';\nconst run = new Run(JSON.parse(__ENV.RUN));\n"
	whole  = making + "export const options = { scenarios: run.scenarios(), thresholds: run.thresholds() };\n" +
		"export function sender() { run.send(); }\nexport const handleSummary = run.summary;\n"
	alone = "export const options = { scenarios: { sender: { executor: 'per-vu-iterations', vus: 2, exec: 'sender' } } };\n"
)

// ran is the result of a `k6 run`.
type ran struct {
	code   int
	output string
	dir    string
}

// runScript runs a script against a pipeline, with k6's flags before it.
func runScript(t *testing.T, pipeline *fake.Pipeline, script string, flags ...string) ran {
	t.Helper()
	return runScriptIn(t, nil, pipeline, script, flags...)
}

// runScriptIn is runScript with more variables in the environment.
func runScriptIn(t *testing.T, environment []string, pipeline *fake.Pipeline, script string, flags ...string) ran {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "script.js")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	described, err := json.Marshal(map[string]any{
		"name": "exit", "dir": filepath.Join(dir, "run"), "profile": "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: one}]",
		"canary": false, "ingest": map[string]any{"url": pipeline.IngestURL()}, "mqtt": map[string]any{"url": pipeline.MQTTURL()},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"run", "--quiet", "--no-color", "--address", ""}, flags...)
	command := exec.CommandContext(ctx, filepath.Join(root, "k6"), append(args, path)...)
	command.Env = append([]string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true",
		"RUN=" + string(described),
	}, environment...)
	out, err := command.CombinedOutput()
	if command.ProcessState == nil {
		require.NoError(t, err)
	}
	return ran{command.ProcessState.ExitCode(), string(out), filepath.Join(dir, "run")}
}

// Regression: k6 knows only its thresholds, and accepts those on metrics without a sample. A run that never began
// exited with 0, after 33 s.
func TestARunThatNeverBeganIsNotGreen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		flags  []string
		says   string
	}{
		"flags replace the scenarios": {
			whole + "export function subscriber() { run.collect(); }\nexport default function () { run.send() }",
			[]string{"-u", "5", "-d", "30s"}, "collect",
		},
		"stages replace the scenarios": {
			whole + "export function subscriber() { run.collect(); }\nexport default function () { run.next() }",
			[]string{"-u", "1", "-s", "1s:5", "-s", "30s:5"}, "collect",
		},
		"iterations replace the scenarios": {
			whole + "export function subscriber() { run.collect(); }\nexport default function () {}",
			[]string{"-i", "3"}, "collect",
		},
		"no scenario collects":       {making + alone + "export function sender() { run.send(); }", nil, "collect"},
		"no scenario collects, next": {making + alone + "export function sender() { run.next(); }", nil, "collect"},
		"no scenario collects, pump": {
			making + alone + "run.scenarios({ pump: true });\nexport function sender() { run.pump(); }", nil, "collect",
		},
		"the subscriber does not collect": {whole + "export function subscriber() {}", nil, "collect"},
		"the subscriber throws":           {whole + "export function subscriber() { throw new Error('early'); }", nil, "early"},
		"nothing is called":               {making + "export default function () {}", nil, "collect"},
		"without thresholds of k6":        {whole + "export function subscriber() {}", []string{"--no-thresholds"}, "collect"},
		"without a summary":               {whole + "export function subscriber() {}", []string{"--summary-mode=disabled"}, "collect"},
		"a summary of its own": {
			strings.ReplaceAll(whole, "= run.summary", "= () => ({})") + "export function subscriber() {}", nil,
			"collect",
		},
		"setup() sends": {whole + "export function subscriber() { run.collect(); }\nexport function setup() { run.send(); }", nil,
			"scenario"},
		"setup() collects": {whole + "export function subscriber() {}\nexport function setup() { run.collect(); }", nil, "scenario"},
		"setup() throws": {
			whole + "export function subscriber() { run.collect(); }\nexport function setup() { throw new Error('early'); }",
			nil, "early",
		},
		"a function is missing": {whole, nil, "subscriber"},
		"collect() is cut off before it has begun": {
			whole + "options.scenarios.subscriber.maxDuration = '1ms'; options.scenarios.subscriber.gracefulStop = '0s';\n" +
				"export function subscriber() { run.collect(); }", nil, "",
		},
		"limits without a run": {
			"import 'k6/x/arrival';\nexport const options = { thresholds: { arrival_p99: ['value<100'] } };\nexport default function () {}",
			nil, "arrival_p99",
		},
		"limits of a tag without a run": {
			"import 'k6/x/arrival';\nexport const options = { thresholds: { 'arrival_latency{phase:one}': ['p(99)<100'] } };\n" +
				"export default function () {}", nil, "arrival_latency",
		},
		"the test aborts itself": {
			"import { test } from 'k6/execution';\n" + whole + "export function subscriber() { test.abort('early'); }",
			nil, "early",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipeline := test.Start(t, &fake.Pipeline{})
			r := runScript(t, pipeline, c.script, c.flags...)
			assert.NotContains(t, []int{0, 99, 110}, r.code, "99 and 110 are codes of a run that came to its end\n%s",
				r.output)
			assert.Contains(t, r.output, c.says)
			assert.Empty(t, pipeline.Log())
			assert.NotContains(t, r.output, "goroutine")
		})
	}
}

// Regression: verdicts that only this module knows changed no exit code of a plain `k6 run`.
func TestARunThatDoesNotPassIsNotGreen(t *testing.T) {
	t.Parallel()
	collect := "export function subscriber() { run.collect(); }\n"
	for name, c := range map[string]struct {
		script string
		flags  []string
		result string
	}{
		"a limit of k6 is broken, and k6 judges none": {
			strings.ReplaceAll(whole, "run.thresholds()", "{ http_req_duration: ['max<0.000001'] }") + collect,
			[]string{"--no-thresholds"}, runfile.Fail,
		},
		"a limit is not judged": {
			"import { Trend } from 'k6/metrics';\nnew Trend('never');\n" +
				strings.ReplaceAll(whole, "run.thresholds()", "{ never: ['max<1'] }") + collect, nil, runfile.Incomplete,
		},
		"collect() is cut off": {
			whole + collect +
				"options.scenarios.subscriber.maxDuration = '1s'; options.scenarios.subscriber.gracefulStop = '0s';", nil,
			runfile.Incomplete,
		},
		"collect() is cut off, and the script has a summary of its own": {
			strings.ReplaceAll(whole, "= run.summary", "= () => ({})") + collect +
				"options.scenarios.subscriber.maxDuration = '1s'; options.scenarios.subscriber.gracefulStop = '0s';",
			nil, runfile.Incomplete,
		},
		"nobody sends":  {strings.ReplaceAll(whole, "run.send();", "") + collect, []string{"--no-thresholds"}, runfile.Invalid},
		"collect twice": {whole + "export function subscriber() { run.collect(); run.collect(); }", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runScript(t, test.Start(t, &fake.Pipeline{}), c.script, c.flags...)
			assert.NotZero(t, r.code, r.output)
			// a busy machine may be late
			if got := test.Run(t, r.dir).Verdict.Result; c.result != "" && got != runfile.Invalid {
				assert.Equal(t, c.result, got)
			}
		})
	}
}
