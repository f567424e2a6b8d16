package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// k6 starts a script of scripts/ with the GOGC that npm run ramp sets.
func (b *bench) k6(script string, env []string, args ...string) *process {
	env = append(env, "GOGC=400", "K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true")
	args = append([]string{"run", "--quiet", "--no-color", "--include-system-env-vars"}, args...)
	path := filepath.Join("extensions/k6/cmd/bench/scripts", script)
	return b.start("k6 "+script, env, filepath.Join(b.dir, "k6"), append(args, path)...)
}

// options are those of new Run().
type options map[string]any

// sending returns the options of a run that posts to url and subscribes to mqtt at QoS 0.
func sending(profile string, senders int, url, token, mqtt string) options {
	return options{
		"profile": profile, "senders": senders, "canary": false,
		"ingest": options{"url": url, "token": token}, "mqtt": options{"url": mqtt, "qos": 0},
	}
}

func phase(seconds, rate float64, flow string) string {
	return fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %.0f}]\nflows: [{name: one%s}]\n",
		seconds, rate, flow)
}

// runSeconds is the length of a run that ends by itself after it was measured.
func (b *bench) runSeconds() float64 { return b.warmup.Seconds() + b.duration.Seconds() + 1 }

// openSeconds is longer than any measurement takes: the bench ends the run.
func (b *bench) openSeconds() float64 { return 2*b.warmup.Seconds() + b.duration.Seconds() + 5 }

// arrival starts k6 with the native instrument.
func (b *bench) arrival(o options, pump bool) *process {
	dir := must.Get(os.MkdirTemp(b.dir, "run-"))
	o["dir"] = dir
	// The options may hold credentials, so they go into the environment.
	env := []string{"RUN=" + string(must.Get(json.Marshal(o))), fmt.Sprint("PUMP=", pump)}
	var args []string
	pprof := ""
	if b.profiles != "" {
		api := freeAddress()
		args, pprof = []string{"--profiling-enabled", "--address", api}, "http://"+api+"/debug/pprof/profile"
	}
	p := b.k6("arrival.js", env, args...)
	p.report, p.pprof = filepath.Join(dir, "run.json"), pprof
	return p
}

// notPassed is k6's exit code for a complete run whose verdict is not pass.
const notPassed = 110

// finish waits for the end of an arrival run and returns how many messages arrived. It fails if one is missing. It
// ignores the verdict: the bench's own ingest invents stamps, and a busy machine delays k6.
func (b *bench) finish(p *process) int {
	must.Do(p.wait(b.ctx, notPassed))
	var run struct {
		Account struct{ Scheduled, Arrived int }
	}
	must.Do(json.Unmarshal(must.Get(os.ReadFile(p.report)), &run))
	a := run.Account
	if a.Arrived != a.Scheduled || a.Arrived == 0 {
		must.Fail("%d of %d messages arrived: what was measured is not what was meant\n%s",
			a.Arrived, a.Scheduled, p.tail)
	}
	return a.Arrived
}

// profile writes a CPU profile of a process while it is measured.
func (b *bench) profile(p *process) {
	_, text, err := b.get(fmt.Sprintf("%s?seconds=%.0f", p.pprof, max(1, b.duration.Seconds()-1)))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.profiles, b.row+".pprof"), text, 0o600)
	}
	if err != nil {
		b.say("no profile: %s", err)
	}
}
