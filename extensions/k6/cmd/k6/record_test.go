package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// The Python example is documentation, so it runs unchanged.
func TestThePythonExampleIsRecorded(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile.yml")
	require.NoError(t, os.WriteFile(profile, []byte("phases: [{duration: 2, arrivalRate: 50}]\n"+
		"flows: [{name: one, weight: 3}, {name: batch, messages: 5}, {name: room, target: room, deliveries: 2}]"), 0o600))
	pipeline := test.Start(t, &fake.Pipeline{Delay: 20 * time.Millisecond, Status: func(nth int) int {
		if nth == 30 || nth == 31 { // at most one of them is the canary's
			return 503
		}
		return 202
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, python, filepath.Join(root, "extensions/k6/examples/record.py"), profile)
	command.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "K6=" + filepath.Join(root, "k6"), "RUNS=" + dir,
		"INGEST_URL=" + pipeline.IngestURL(), "MQTT_URL=" + pipeline.MQTTURL(),
	}
	out, err := command.CombinedOutput()
	assert.Error(t, err, "%s", out)
	assert.Equal(t, 99, command.ProcessState.ExitCode(), "%s", out)
	runs, err := filepath.Glob(filepath.Join(dir, "python-single-loopback-*"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
	r := test.Run(t, runs[0])
	assert.Equal(t, 180, r.Account.Scheduled)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived+r.Account.Rejected)
	assert.Equal(t, "HTTP 503", r.Errors[0].Class)
	assert.Equal(t, "python", r.Run.Tool.Name)
	assert.Equal(t, "python", r.Resources[0].Process)
	assert.NotNil(t, r.Resources[0].RSSMB.Mean)
	assert.Contains(t, string(out), "rejected: ")
}

// Standard output holds only lines of JSON, also after an error.
func TestStandardOutputHoldsOnlyJSONLines(t *testing.T) {
	t.Parallel()
	k6, err := filepath.Abs("../../../../k6")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		lines string
		code  int
		keys  []string
	}{
		"empty input":        {"", 105, []string{}},
		"invalid line":       {"{\"now\": true}\nhello\n", 104, []string{"now", "error"}},
		"connection refused": {`{"options": {"profile": "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: one}]", "ingest": {"url": "http://127.0.0.1:1"}, "mqtt": {"url": "mqtt://127.0.0.1:1"}}}` + "\n", 104, []string{"error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, k6, "x", "arrival", "record")
			command.Dir = t.TempDir()
			command.Env = []string{"HOME=" + command.Dir}
			in, err := command.StdinPipe()
			require.NoError(t, err)
			var out, log bytes.Buffer
			command.Stdout, command.Stderr = &out, &log
			require.NoError(t, command.Start())
			_, err = in.Write([]byte(c.lines))
			require.NoError(t, err)
			if c.code == 105 {
				require.NoError(t, in.Close())
			}
			_ = command.Wait()
			assert.Equal(t, c.code, command.ProcessState.ExitCode())
			keys := []string{}
			for line := range strings.Lines(out.String()) {
				var fields map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
				for key := range fields {
					keys = append(keys, key)
				}
			}
			assert.Equal(t, c.keys, keys)
			assert.Contains(t, log.String(), "level=error")
		})
	}
}

// The recorder writes its report when its caller is gone, and after a signal.
func TestAnInterruptedRecorderWritesItsReport(t *testing.T) {
	t.Parallel()
	k6, err := filepath.Abs("../../../../k6")
	require.NoError(t, err)
	for name, end := range map[string]func(*exec.Cmd, *os.File, *os.File){
		"the caller closes both pipes": func(_ *exec.Cmd, in, out *os.File) { _, _ = in.Close(), out.Close() },
		"SIGTERM":                      func(c *exec.Cmd, _, _ *os.File) { _ = c.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipeline := test.Start(t, &fake.Pipeline{})
			dir := t.TempDir()
			theirIn, in, err := os.Pipe()
			require.NoError(t, err)
			out, theirOut, err := os.Pipe()
			require.NoError(t, err)
			defer func() { _, _ = in.Close(), out.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, k6, "x", "arrival", "record")
			command.Env, command.Stdin, command.Stdout = []string{"HOME=" + dir}, theirIn, theirOut
			require.NoError(t, command.Start())
			_, _ = theirIn.Close(), theirOut.Close()
			answers := json.NewDecoder(out)
			options, err := json.Marshal(map[string]any{"options": map[string]any{
				"profile": "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: one}]", "dir": dir,
				"ingest": map[string]any{"url": pipeline.IngestURL()}, "mqtt": map[string]any{"url": pipeline.MQTTURL()},
			}})
			require.NoError(t, err)
			_, err = in.Write(append(options, "\n{\"start\": {\"in_us\": 0}}\n{\"next\": 1}\n"...))
			require.NoError(t, err)
			for line := map[string]any{}; line["slots"] == nil; {
				line = map[string]any{}
				require.NoError(t, answers.Decode(&line))
			}
			end(command, in, out)
			_ = command.Wait()
			assert.Equal(t, 105, command.ProcessState.ExitCode())
			assert.Equal(t, runfile.Incomplete, test.Run(t, dir).Verdict.Result)
		})
	}
}
