package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

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
func (in instrument) run(
	ctx context.Context, g *generated, c *testCase, options map[string]any, half <-chan struct{},
) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	command, err := in.command(ctx, g, c, options)
	if err != nil {
		return 0, err
	}
	var words bytes.Buffer
	command.Stderr = &words
	// Where the system ends k6 with us, it does so at the end of the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave, err := crowd(ctx, c.crowd)
	defer leave()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return 0, fmt.Errorf("%s can't be started: %w", in.k6, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if c.kill > 0 {
		return -1, g.kill(ctx, c, command, half, ended, &words)
	}
	err = <-ended
	code := command.ProcessState.ExitCode()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return 0, fmt.Errorf("k6 was still running after %s", runLimit)
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case code != 0 && code != thresholdsCrossed:
		return 0, fmt.Errorf("k6 ended with %w: %s", err, lastWords(&words))
	}
	return code, nil
}

func (in instrument) command(ctx context.Context, g *generated, c *testCase, options map[string]any) (*exec.Cmd, error) {
	told, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	args := []string{"run", "--quiet", "--no-color", "--log-format", "raw", "--address", ""}
	if c.raw {
		args = append(args, "--out", "json="+g.points())
	}
	command := exec.CommandContext(ctx, in.k6, append(args, in.script)...)
	command.Env = append(environment(), "SELFTEST_RUN="+string(told), "GOGC=400",
		"K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true")
	command.SysProcAttr = apart()
	return command, nil
}

// kill kills k6 as soon as it is half-way and its report knows of what was sent by then.
func (g *generated) kill(
	ctx context.Context, c *testCase, command *exec.Cmd, half <-chan struct{}, ended <-chan error, words *bytes.Buffer,
) error {
	select {
	case <-half:
	case <-ended:
		return fmt.Errorf("k6 ended before it could be killed: %s", lastWords(words))
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !g.checkpointed(c.kill) {
		select {
		case <-look.C:
		case <-ended:
			return fmt.Errorf("k6 ended and wrote no report of what it had sent: %s", lastWords(words))
		}
	}
	_ = command.Process.Kill()
	<-ended
	return ctx.Err()
}

// checkpointed reports whether the report on disk knows of so many messages.
func (g *generated) checkpointed(least int) bool {
	data, err := os.ReadFile(filepath.Join(g.dir, "run.json"))
	var r report.Run
	return err == nil && json.Unmarshal(data, &r) == nil && r.Account.Scheduled >= least
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
