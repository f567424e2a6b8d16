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
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	// runLimit is far above what any case takes.
	runLimit = 2 * time.Minute
	// thresholdsCrossed is k6's exit code after a crossed threshold.
	thresholdsCrossed = 99
)

// run runs k6 with the options of a Run until it ends or the case kills it, and returns its exit code.
func (in instrument) run(
	ctx context.Context, g *generated, c *testCase, options map[string]any, half <-chan struct{}, s share,
) (exit int) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("k6 was still running after %s", runLimit))
	defer cancel()
	args := []string{"run", "--quiet", "--no-color", "--log-format", "raw", "--address", ""}
	if c.raw {
		args = append(args, "--out", "json="+g.points())
	}
	args = append(args, s.flags()...)
	name, args := in.k6, append(args, in.script)
	// Pdeathsig ends k6 with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.burns {
		name, args = "sh", slices.Concat([]string{"-c", ahead, "", name}, args)
	}
	if c.busyLoops > 0 {
		first, others := ownCores()
		one := []string{"-c", first}
		if len(c.limits) > 0 && others != "" {
			defer pinSelf(others)()
		}
		name, args = "taskset", append(slices.Concat(one, []string{name}), args...)
		for range c.busyLoops {
			busy := exec.CommandContext(ctx, "taskset", append(one, "sh", "-c", "while :; do :; done")...)
			busy.SysProcAttr = ownGroup()
			must.Do(busy.Start())
			defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
		}
	}
	if c.cpuShare > 0 {
		limited, withArgs, after := limitCPU(c.cpuShare, name, args)
		defer after()
		name, args = limited, withArgs
	}
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(ownEnvironment(),
		"SELFTEST_RUN="+string(must.Get(json.Marshal(options))), "SELFTEST_CONSUMER="+c.consuming(g.fake),
		"SELFTEST_THRESHOLDS="+c.thresholds(), "GOGC=400")
	if c.burns {
		command.Env = append(command.Env, "GOMAXPROCS=1", fmt.Sprintf("SELFTEST_BURNS=%d", c.seconds[full]))
	}
	if command.SysProcAttr = ownGroup(); c.burns {
		command.SysProcAttr = ownSession()
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	began := time.Now()
	if err := command.Start(); err != nil {
		must.Fail("%s can't be started: %w", in.k6, err)
	}
	if len(c.frozenAt) > 0 {
		go freezeK6(ctx, command.Process, g.fake, c.frozenAt)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if c.kill > 0 {
		g.awaitHalf(c, half, ended, &stderr)
		_ = command.Process.Kill()
	}
	err := <-ended
	must.Do(context.Cause(ctx))
	used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	g.cpu = float64(used) / float64(time.Since(began))
	exit = command.ProcessState.ExitCode()
	if c.kill == 0 && exit != 0 && exit != thresholdsCrossed {
		must.Fail("k6 ended with %w: %s", err, lastOutput(&stderr))
	}
	return exit
}

// ahead is a shell's command that becomes another one, before all others at the CPU where this user may have that.
// Linux may share the CPU by session.
const ahead = `{ echo -20 >/proc/self/autogroup; } 2>/dev/null; exec nice -n -20 "$@"`

// ownEnvironment is the environment of this process without settings of k6.
func ownEnvironment() []string {
	setsK6 := func(variable string) bool { return strings.HasPrefix(variable, "K6_") }
	return append(slices.DeleteFunc(os.Environ(), setsK6), "K6_AUTO_EXTENSION_RESOLUTION=false",
		"K6_NO_USAGE_REPORT=true")
}

// awaitHalf returns when k6 is half-way and its report counts what was sent by then.
func (g *generated) awaitHalf(c *testCase, half <-chan struct{}, ended <-chan error, stderr *bytes.Buffer) {
	select {
	case <-half:
	case <-ended:
		must.Fail("k6 ended before it could be killed: %s", lastOutput(stderr))
	}
	for !g.checkpointed(c.kill) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ended:
			must.Fail("k6 ended and wrote no report of what it had sent: %s", lastOutput(stderr))
		}
	}
}

// checkpointed reports whether the report on disk counts at least that many messages.
func (g *generated) checkpointed(least int) bool {
	data, err := os.ReadFile(filepath.Join(g.dir, runfile.FileName))
	var r runfile.Run
	return err == nil && json.Unmarshal(data, &r) == nil && r.Account.Scheduled >= least
}

// lastOutput returns the end of k6's output on one line.
func lastOutput(b *bytes.Buffer) string {
	const most = 300
	text := strings.Join(strings.Fields(b.String()), " ")
	if len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return text
}

// instrument is the program under test: the built k6, run with the self-test's script.
type instrument struct{ k6, script string }

// generated has the measurements of one generator and the truth of its pipeline.
type generated struct {
	fake *fake.Pipeline
	log  []fake.Delivery
	run  *runfile.Run
	exit int     // k6's exit code; −1 where it was killed
	cpu  float64 // cores that k6 used on average, as the kernel counts
	dir  string
	// spans in which this process, and the pipeline in it, stood still
	beats []lateBeat
}

// ofMachine reports whether a verdict's reason depends on the machine: the generator was late or out of CPU, or
// the round trip to Redis took too long for the clock bound.
func ofMachine(reason string) bool {
	return strings.HasPrefix(reason, "the generator was ") || strings.HasPrefix(reason, "the clock bound ")
}

// late is why the run distrusts its own generator; "" if it does not.
func (g *generated) late() string {
	for _, reason := range slices.Concat(g.run.Verdict.Reasons, g.run.Verdict.Doubts) {
		if ofMachine(reason) {
			why, _, _ := strings.Cut(reason, ";") // the rest is advice
			return why
		}
	}
	return ""
}

// points is the file of k6's samples.
func (g *generated) points() string { return filepath.Join(g.dir, "points.json") }

// generate runs k6 against a pipeline, in its own directory below dir. Instances of one run choose theirs there.
func (in instrument) generate(
	ctx context.Context, c *testCase, f *fake.Pipeline, seconds int, dir string, s share,
) (*generated, error) {
	half := make(chan struct{}) // closed at the request that the case kills k6 at
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
	g := &generated{fake: f, dir: filepath.Join(dir, strconv.Itoa(s.number))}
	options := in.options(c, f, seconds, g.dir)
	if s.run != "" {
		g.dir = filepath.Join(dir, fmt.Sprintf("generator-%d", s.number))
		options["dir"], options["runId"], options["redis"] = dir, s.run, map[string]any{"url": s.redis}
	}
	err := must.Try(func() {
		must.Do(os.MkdirAll(g.dir, 0o755))
		if len(c.limits) > 0 {
			beats := startWatch()
			defer func() { g.beats = beats.stop() }()
		}
		g.exit = in.run(ctx, g, c, options, half, s)
		g.log = f.Log()
		g.read()
	})
	return g, errors.Join(err, f.Close())
}

// read reads the report that k6 left.
func (g *generated) read() {
	data, err := os.ReadFile(filepath.Join(g.dir, runfile.FileName))
	if err != nil {
		must.Fail("k6 ended with %d and left no report: %w", g.exit, err)
	}
	must.Do(json.Unmarshal(data, &g.run))
}

// flags returns the flags that make a k6 an instance.
func (s share) flags() []string {
	if s.run == "" {
		return nil
	}
	limits := []string{"0"}
	for i := 1; i < s.of; i++ {
		limits = append(limits, fmt.Sprintf("%d/%d", i, s.of))
	}
	limits = append(limits, "1")
	return []string{"--execution-segment-sequence", strings.Join(limits, ","),
		"--execution-segment", limits[s.number-1] + ":" + limits[s.number]}
}

// merge merges the instances whose directories are in dir.
func (in instrument) merge(ctx context.Context, dir string) (*generated, error) {
	g := &generated{dir: dir}
	command := exec.CommandContext(ctx, in.k6, "x", "arrival", "merge", dir)
	command.Env = ownEnvironment()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	if g.exit = command.ProcessState.ExitCode(); err != nil && g.exit != thresholdsCrossed {
		return nil, fmt.Errorf("the parts can't be merged: %w: %s", err, lastOutput(&stderr))
	}
	return g, must.Try(g.read)
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
	if c.consumer != nil {
		delete(options, "mqtt")
		options["arrived"] = map[string]any{}
	}
	if f.Outlet != nil {
		delete(options, "mqtt")
		maps.Copy(options, f.Outlet.Receive())
	}
	if f.Traces != nil {
		options["spans"] = map[string]any{"listen": f.Traces.Address(), "oneIn": 1}
	}
	maps.Copy(options, c.options)
	return options
}

// consuming is the input of the script's consumer, as JSON.
func (c *testCase) consuming(f *fake.Pipeline) string {
	if c.consumer == nil {
		return ""
	}
	topics := []string{}
	for i := range 20 {
		topics = append(topics, fmt.Sprintf("messages/user/%d", i))
	}
	return string(must.Get(json.Marshal(map[string]any{
		"broker": f.MQTTURL(), "topics": topics, "late": c.consumer.late.Seconds(), "stamped": c.consumer.stamped,
	})))
}
