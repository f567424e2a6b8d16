package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const (
	// runLimit is far above what any case takes.
	runLimit = 2 * time.Minute
	// thresholdsCrossed is k6's exit code where a threshold was crossed.
	thresholdsCrossed = 99
)

// run runs k6 with the options of a Run until it ends, or until it is killed where the case says so. It returns k6's exit
// code.
func (in instrument) run(ctx context.Context, g *generated, c *testCase, options map[string]any, half <-chan struct{}) (exit int) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("k6 was still running after %s", runLimit))
	defer cancel()
	args := []string{"run", "--quiet", "--no-color", "--log-format", "raw", "--address", ""}
	if c.raw {
		args = append(args, "--out", "json="+g.points())
	}
	name, args := in.k6, append(args, in.script)
	// Where the system ends k6 with us, it does so at the end of the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.crowd > 0 {
		_, cores, _ := strings.Cut(string(must.Get(os.ReadFile("/proc/self/status"))), "Cpus_allowed_list:\t")
		one := []string{"-c", cores[:strings.IndexAny(cores, "-,\n")]}
		name, args = "taskset", append(slices.Concat(one, []string{name}), args...)
		for range c.crowd {
			busy := exec.CommandContext(ctx, "taskset", append(one, "sh", "-c", "while :; do :; done")...)
			busy.SysProcAttr = apart()
			must.Do(busy.Start())
			defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
		}
	}
	command := exec.CommandContext(ctx, name, args...)
	ofK6 := func(variable string) bool { return strings.HasPrefix(variable, "K6_") } // which would change it
	command.Env = append(slices.DeleteFunc(os.Environ(), ofK6), "SELFTEST_RUN="+string(must.Get(json.Marshal(options))), "GOGC=400",
		"K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true")
	command.SysProcAttr = apart()
	var words bytes.Buffer
	command.Stderr = &words
	err := command.Start()
	if err != nil {
		must.Fail("%s can't be started: %w", in.k6, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if c.kill > 0 {
		g.awaitHalf(c, half, ended, &words)
		_ = command.Process.Kill()
	}
	err = <-ended
	must.Do(context.Cause(ctx))
	exit = command.ProcessState.ExitCode()
	if c.kill == 0 && exit != 0 && exit != thresholdsCrossed {
		must.Fail("k6 ended with %w: %s", err, lastWords(&words))
	}
	return exit
}

// awaitHalf returns as soon as k6 is half-way and its report knows of what was sent by then.
func (g *generated) awaitHalf(c *testCase, half <-chan struct{}, ended <-chan error, words *bytes.Buffer) {
	select {
	case <-half:
	case <-ended:
		must.Fail("k6 ended before it could be killed: %s", lastWords(words))
	}
	for !g.checkpointed(c.kill) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ended:
			must.Fail("k6 ended and wrote no report of what it had sent: %s", lastWords(words))
		}
	}
}

// checkpointed reports whether the report on disk knows of so many messages.
func (g *generated) checkpointed(least int) bool {
	data, err := os.ReadFile(filepath.Join(g.dir, report.FileName))
	var r report.Run
	return err == nil && json.Unmarshal(data, &r) == nil && r.Account.Scheduled >= least
}

// lastWords is the end of what k6 wrote, in one line.
func lastWords(b *bytes.Buffer) string {
	const most = 300
	text := strings.Join(strings.Fields(b.String()), " ")
	if len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return text
}
