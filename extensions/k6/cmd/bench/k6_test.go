package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// k6 starts a script of scripts/ with the GOGC that npm run ramp sets.
func k6(t testing.TB, script string, env []string, args ...string) *program {
	binary, err := filepath.Abs(k6Path)
	require.NoError(t, err)
	env = append(env, "GOGC=400", "K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true")
	args = append([]string{"run", "--quiet", "--no-color", "--include-system-env-vars"}, args...)
	return start(t, env, binary, append(args, filepath.Join(folder, "scripts", script))...)
}

// options is the argument of new Run().
type options map[string]any

// sending returns the options of a run that posts to url and subscribes to mqtt at QoS 0. An open load has no more senders
// than it begins with: a baseline has a fixed number of connections too.
func sending(profile string, senders int, url, token, mqtt string) options {
	return options{
		"profile": profile, "senders": senders, "maxSenders": senders, "canary": false,
		"ingest": options{"url": url, "token": token}, "mqtt": options{"url": mqtt, "qos": 0},
	}
}

func phase(seconds, rate float64, flow string) string {
	return fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %.0f}]\nflows: [{name: one%s}]\n",
		seconds, rate, flow)
}

// runSeconds is the length of a run that ends by itself after it was measured.
func runSeconds() float64 { return set.warmup.Seconds() + set.duration.Seconds() + 1 }

// openSeconds is longer than any measurement takes: the bench ends the run.
func openSeconds() float64 { return 2*set.warmup.Seconds() + set.duration.Seconds() + 5 }

// arrival starts k6 with the native instrument and the options of its Run.
func arrival(t testing.TB, script string, o options, env ...string) *program {
	dir := directory(t)
	o["dir"] = dir
	text, err := json.Marshal(o)
	require.NoError(t, err)
	env = append(env, "RUN="+string(text)) // not an argument: the options may hold credentials
	var args []string
	pprof := ""
	if set.profiles != "" {
		api := test.FreeAddress(t)
		args, pprof = []string{"--profiling-enabled", "--address", api}, "http://"+api+"/debug/pprof/profile"
	}
	p := k6(t, script, env, args...)
	p.report, p.pprof = filepath.Join(dir, "run.json"), pprof
	return p
}

// pumped starts k6 with run.pump() as its sender.
func pumped(t testing.TB, o options) *program {
	return arrival(t, "arrival.js", o, "PUMP=true")
}

// notPassed is k6's exit code for a complete run whose verdict is not pass.
const notPassed = 110

// finish waits for the end of an arrival run and returns how many messages arrived. It fails if one is missing. It
// ignores the verdict: the bench's own ingest invents stamps, and a busy machine delays k6.
func finish(t testing.TB, p *program) int {
	require.NoError(t, p.Wait(ctx, notPassed))
	var run struct {
		Account struct{ Scheduled, Arrived int }
	}
	p.readRun(t, &run)
	require.Positive(t, run.Account.Arrived)
	require.Equal(t, run.Account.Scheduled, run.Account.Arrived, "messages are missing: what was measured is not "+
		"what was meant")
	return run.Account.Arrived
}
