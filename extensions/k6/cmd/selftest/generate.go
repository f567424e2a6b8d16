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
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// instrument is what is tested: the built k6 with its page, and nothing of its inside.
type instrument struct{ k6, script, template string }

// generated is what one generator measured, and what its pipeline did.
type generated struct {
	fake *fake.Pipeline
	log  []fake.Delivery
	run  *report.Run
	exit int // of k6; −1 where it was killed
	dir  string
}

// machine begins the reasons of a verdict that depend on what else runs on the machine: the generator was late, or out of CPU.
const machine = "the generator was "

// late says why the run itself doubts its generator; "" where it does not.
func (g *generated) late() string {
	for _, reason := range g.run.Verdict.Reasons {
		if strings.HasPrefix(reason, machine) {
			why, _, _ := strings.Cut(reason, ";") // what comes after it is advice
			return why
		}
	}
	return ""
}

// points is the file that a case with raw points has k6 write them to.
func (g *generated) points() string { return filepath.Join(g.dir, "points.json") }

// generate runs k6 against a pipeline as the case says, in a directory of its own.
func (in instrument) generate(ctx context.Context, c *testCase, f *fake.Pipeline, seconds int, dir string) (_ *generated, err error) {
	killed := make(chan struct{})
	if c.kill > 0 {
		f.Status = func(nth int) int {
			if nth == c.kill {
				close(killed)
			}
			return 202
		}
	}
	if err := f.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the directory of a run can't be made: %w", err)
	}

	options := map[string]any{
		"name": "selftest", "dir": dir, "template": in.template, "command": "npm run selftest",
		"profile": c.profileText(seconds),
		"ingest":  map[string]any{"url": f.IngestURL()}, "mqtt": map[string]any{"url": f.MQTTURL()},
	}
	if f.Redis != nil {
		options["redis"] = map[string]any{"url": f.Redis.URL()}
	}
	maps.Copy(options, c.options)
	g := &generated{fake: f, dir: dir}
	if g.exit, err = in.start(ctx, g, c, options, killed); err != nil {
		return nil, err
	}
	g.log = f.Log()
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return nil, fmt.Errorf("k6 ended with %d and left no report: %w", g.exit, err)
	}
	if err := json.Unmarshal(data, &g.run); err != nil {
		return nil, fmt.Errorf("run.json can't be read: %w", err)
	}
	return g, nil
}

// start runs k6 until it ends, or kills it where the case says so. It returns k6's exit code.
func (in instrument) start(ctx context.Context, g *generated, c *testCase, options map[string]any, killed <-chan struct{}) (int, error) {
	told, err := json.Marshal(options)
	if err != nil {
		return 0, err
	}
	args := []string{"run", "--quiet", "--no-color", "--log-format", "raw", "--address", ""}
	if c.raw {
		args = append(args, "--out", "json="+g.points())
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	command := exec.CommandContext(ctx, in.k6, append(args, in.script)...)
	command.Env = append(environment(), "SELFTEST_RUN="+string(told), "GOGC=400",
		"K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true")
	var words bytes.Buffer
	command.Stderr = &words
	command.SysProcAttr = apart()
	// Pdeathsig means the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("%s can't be started: %w", in.k6, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if c.kill > 0 {
		select {
		case <-killed:
			if err = g.checkpointed(ctx); err == nil {
				_ = command.Process.Kill()
			}
			<-ended
			return -1, err
		case err = <-ended:
			return 0, fmt.Errorf("k6 ended before it could be killed: %s", lastWords(&words))
		}
	}
	err = <-ended
	code := command.ProcessState.ExitCode()
	switch {
	case context.Cause(ctx) == context.DeadlineExceeded:
		return 0, fmt.Errorf("k6 was still running after %s", runLimit)
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case code != 0 && code != thresholdsCrossed:
		return 0, fmt.Errorf("k6 ended with %w: %s", err, lastWords(&words))
	}
	return code, nil
}

const (
	// runLimit is far above what any case takes.
	runLimit = 2 * time.Minute
	// thresholdsCrossed is k6's exit code where a threshold was crossed.
	thresholdsCrossed = 99
)

// checkpointed returns when the report on disk knows of messages.
func (g *generated) checkpointed(ctx context.Context) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		data, err := os.ReadFile(filepath.Join(g.dir, "run.json"))
		var r report.Run
		if err == nil && json.Unmarshal(data, &r) == nil && r.Account.Scheduled > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("k6 wrote no report of the messages that it had sent")
		case <-look.C:
		}
	}
}

// environment is ours without what would change k6.
func environment() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "K6_") {
			env = append(env, e)
		}
	}
	return env
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
