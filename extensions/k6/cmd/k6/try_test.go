package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// trying is `k6 x arrival` in a folder with my.yml, which has a text; empty: there is none.
func trying(t *testing.T, text string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	if text != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "my.yml"), []byte(text), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, filepath.Join(root, "k6"), append([]string{"x", "arrival", "try"}, args...)...)
	command.Dir, command.WaitDelay = dir, 10*time.Second
	command.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TOKEN=s3cret"}
	return command
}

// tried is the exit code of a command, and what it printed.
func tried(t *testing.T, command *exec.Cmd) (code int, output string) {
	t.Helper()
	out, err := command.CombinedOutput()
	if command.ProcessState == nil {
		require.NoError(t, err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

// steps are the first words of lines.
func steps(output string) string {
	return strings.Join(regexp.MustCompile(`(?m)^\S+`).FindAllString(output, -1), " ")
}

func TestAMessageGoesRoundEachKindOfPipeline(t *testing.T) {
	t.Parallel()
	push, events, hook := &fake.Push{}, &fake.Push{Events: true}, test.FreeAddress(t)
	called := &fake.Webhook{URL: func() string { return "http://" + hook + "/hooks" }}
	for name, c := range map[string]struct {
		outlet fake.Outlet
		arrive func(f *fake.Pipeline) string
		steps  string
	}{
		"MQTT": {nil, func(f *fake.Pipeline) string { return "mqtt: {url: '" + f.MQTTURL() + "'}" }, "connected"},
		"a webhook": {called, func(*fake.Pipeline) string {
			return "webhook: {address: '" + hook + "', path: /hooks}"
		}, "listening"},
		"WebSocket": {push, func(*fake.Pipeline) string {
			return "websocket: {url: '" + push.WebSocketURL() + "?topic={{target}}', clients: 50}"
		}, "connected"},
		"server-sent events": {events, func(*fake.Pipeline) string {
			return "sse: {url: '" + events.EventsURL() + "', headers: {x-tenant: 7}}"
		}, "connected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := test.Start(t, &fake.Pipeline{Outlet: c.outlet})
			text := fmt.Sprintf("ingest: {url: '%s', token: $TOKEN}\nbody: '{\"target\":\"{{target}}\",\"msg\":{\"no\":\"{{id}}\"}}'\n"+
				"targets: [a, b]\narrive:\n  %s\nsenders: 4\n", f.IngestURL(), c.arrive(f))
			code, output := tried(t, trying(t, text, "my.yml"))
			assert.Equal(t, 0, code, output)
			// A server that answers before it subscribes a client may miss the first message.
			once := strings.ReplaceAll(steps(output), " waiting answered", "")
			assert.Equal(t, c.steps+" posting answered arrived id", once, output)
			assert.Contains(t, output, "found at $.msg.no")
			// Regression: it went to a target of its own, which a pipeline of known targets refuses.
			assert.Contains(t, output, `{"target":"a",`)
			assert.NotContains(t, output, "s3cret")
		})
	}
}

func TestATrySaysWhereItEnded(t *testing.T) {
	t.Parallel()
	nowhere := "ingest: {url: 'http://127.0.0.1:1'}\narrive: {mqtt: {url: 'mqtt://127.0.0.1:1'}}"
	f := test.Start(t, &fake.Pipeline{Status: func(int) int { return http.StatusForbidden }})
	refusing := fmt.Sprintf("ingest: {url: '%s'}\narrive: {mqtt: {url: '%s'}}", f.IngestURL(), f.MQTTURL())
	for name, c := range map[string]struct {
		text string
		args []string
		code int
		says string
	}{
		"no broker":          {nowhere, nil, 99, "127.0.0.1:1 can't be reached"},
		"a refusal":          {refusing, nil, 99, "refuses messages: HTTP 403"},
		"a wrong key":        {"ingest: {ulr: x}", nil, 1, "my.yml:1:10: ingest.ulr is not known, url is; allowed: "},
		"a wrong body":       {nowhere + "\nbody: none", nil, 1, "body has no {{id}}"},
		"another kind":       {nowhere, []string{"-e", "SSE_URL=http://h"}, 1, "SSE_URL is for ARRIVE=sse, and ARRIVE is mqtt"},
		"an unknown setting": {nowhere, []string{"-e", "RATE=5"}, 1, "RATE is not a setting of try"},
		"a wrong time":       {nowhere, []string{"--timeout", "0s"}, 1, "--timeout is 0s; allowed: 1s to"},
		"no file":            {"", nil, 1, "my.yml: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := tried(t, trying(t, c.text, append([]string{"my.yml"}, c.args...)...))
			assert.Equal(t, c.code, code, output)
			assert.Contains(t, output, c.says)
			assert.NotRegexp(t, `(?m)\bat (file:|github\.com)|goroutine|GoError`, output)
			assert.NotContains(t, output, "level=error") // regression: a wrong file's error was a line of a log
		})
	}
}

func TestASettingOfTheEnvironmentIsTriedWithoutAFile(t *testing.T) {
	t.Parallel()
	f := test.Start(t, &fake.Pipeline{})
	command := trying(t, "")
	command.Env = append(command.Env, "INGEST_URL="+f.IngestURL(), "MQTT_URL="+f.MQTTURL())
	code, output := tried(t, command)
	assert.Equal(t, 0, code, output)
	assert.Contains(t, output, "found at $.id")
}

func TestATryEndsByASignal(t *testing.T) {
	t.Parallel()
	f := test.Start(t, &fake.Pipeline{Copies: func(int) int { return 0 }})
	command := trying(t, fmt.Sprintf("ingest: {url: '%s'}\narrive: {mqtt: {url: '%s'}}", f.IngestURL(), f.MQTTURL()),
		"my.yml", "--timeout", "10m")
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	printed := ""
	for buffer := make([]byte, 1<<10); !strings.Contains(printed, "answered"); {
		n, err := out.Read(buffer)
		printed += string(buffer[:n])
		require.NoError(t, err, printed) // the process still writes to errors
	}
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	_ = command.Wait()
	assert.Equal(t, 105, command.ProcessState.ExitCode(), printed+errors.String())
}

// The settings of a file are those of a script that k6 runs by itself.
func TestARunTakesAPipelineFile(t *testing.T) {
	t.Parallel()
	f := test.Start(t, &fake.Pipeline{})
	path := filepath.Join(t.TempDir(), "my.yml")
	require.NoError(t, os.WriteFile(path, []byte("ingest: {url: 'http://127.0.0.1:1'}\nlabels: {build: 17}"), 0o600))
	r := runScript(t, f, "export const options = { iterations: 1 };\n"+
		"export default function () { console.log(__ENV.INGEST_URL, __ENV.LABELS); }", "--pipeline", path, "-e",
		"LABELS=a=b")
	assert.Equal(t, 0, r.code, r.output)
	assert.Contains(t, r.output, "http://127.0.0.1:1 a=b")
}

// Regression: a flag that is misspelt, or one word too many, was exit code 255, which no help names.
func TestAWrongCommandLineHasTheExitCodeOfItsHelp(t *testing.T) {
	t.Parallel()
	commands := map[string]int{"record": 104}
	for _, name := range []string{"annotate", "check", "merge", "recover", "render", "spans", "try"} {
		commands[name] = 1
	}
	none := func(name string, code int, args ...string) {
		command := trying(t, "")
		command.Args = append([]string{command.Path, "x", "arrival", name}, args...)
		got, output := tried(t, command)
		assert.Equal(t, code, got, "%s %v: %s", name, args, output)
		assert.Equal(t, 1, strings.Count(output, "\n"), "%s %v: %s", name, args, output)
	}
	for name, code := range commands {
		none(name, code, "--none")
		none(name, code, "none")
	}
	none("none", 1)
	none("--none", 1)
}

// Regression: an error of a command in a pipe was a line of a log, with a time and a level.
func TestAnErrorOfACommandIsOnePlainLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--none"}, {"a.yml", "b.yml"}, {"none.yml"}} {
		code, output := tried(t, trying(t, "", args...))
		assert.NotZero(t, code, output)
		assert.NotContains(t, output, "level=")
	}
	command := trying(t, "", "none.yml")
	command.Env = append(command.Env, "K6_LOG_FORMAT=json")
	_, output := tried(t, command)
	assert.Contains(t, output, `"level":"error"`, "a format that the user sets stands")
}
