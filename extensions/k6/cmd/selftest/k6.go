package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
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

// instrument is the tested program: the built k6 with its page.
type instrument struct{ k6, script string }

// generated is what one generator measured and what its pipeline did.
type generated struct {
	fake *fake.Pipeline
	log  []fake.Delivery
	run  *report.Run
	exit int // of k6; −1 where it was killed
	dir  string
}

// machine lists the beginnings of verdict reasons that depend on the machine: the generator was late or out of
// CPU, or the round trip to Redis took too long for the clock bound.
var machine = []string{"the generator was ", "the clock bound "}

func ofMachine(reason string) bool {
	return slices.ContainsFunc(machine, func(begin string) bool { return strings.HasPrefix(reason, begin) })
}

// late is the reason why the run doubts its own generator; "" if it does not.
func (g *generated) late() string {
	for _, reason := range g.run.Verdict.Reasons {
		if ofMachine(reason) {
			why, _, _ := strings.Cut(reason, ";") // the rest is advice
			return why
		}
	}
	return ""
}

// points is the file that a case with raw points has k6 write them to.
func (g *generated) points() string { return filepath.Join(g.dir, "points.json") }

// generate runs k6 against a pipeline as the case says, in a directory of its own.
func (in instrument) generate(ctx context.Context, c *testCase, f *fake.Pipeline, seconds int, dir string) (*generated, error) {
	half := make(chan struct{}) // closed where k6 is to be killed
	if c.kill > 0 {
		f.Status = func(nth int) int {
			if nth == c.kill {
				close(half)
			}
			return 202
		}
	}
	if err := f.Start(); err != nil {
		return nil, err
	}
	g := &generated{fake: f, dir: dir}
	err := must.Try(func() {
		must.Do(os.MkdirAll(dir, 0o755))
		g.exit = in.run(ctx, g, c, in.options(c, f, seconds, dir), half)
		g.log = f.Log()
		data, err := os.ReadFile(filepath.Join(dir, report.FileName))
		if err != nil {
			must.Fail("k6 ended with %d and left no report: %w", g.exit, err)
		}
		must.Do(json.Unmarshal(data, &g.run))
	})
	return g, errors.Join(err, f.Close())
}

func (in instrument) options(c *testCase, f *fake.Pipeline, seconds int, dir string) map[string]any {
	options := map[string]any{
		"name": "selftest", "dir": dir, "command": "npm run selftest",
		"profile": c.profileText(seconds),
		"ingest":  map[string]any{"url": f.IngestURL()}, "mqtt": map[string]any{"url": f.MQTTURL()},
		"canary": false, // its messages would enter the pipeline's counts
	}
	if f.Redis != nil {
		options["redis"] = map[string]any{"url": f.Redis.URL()}
	}
	maps.Copy(options, c.options)
	return options
}
