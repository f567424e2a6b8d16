package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// bench is one run of the bench.
type bench struct {
	settings
	root     string // of the repository
	dir      string // for the time being
	row      string
	children []*process
	closers  []func() // what the row runs in this process
	watchdog io.Writer
	unleash  func()
}

func newBench(s settings) (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if s.profiles != "" {
		if err := os.MkdirAll(s.profiles, 0o700); err != nil {
			return nil, fmt.Errorf("--profiles: %w", err)
		}
	}
	dir, err := os.MkdirTemp(filepath.Join(root, ".stack"), "bench-")
	if err != nil {
		return nil, err
	}
	// The same binary until the end, whatever is built meanwhile.
	if err := os.Link(filepath.Join(root, "k6"), filepath.Join(dir, "k6")); err != nil {
		return nil, fmt.Errorf("there is no ./k6 here: npm run bench, in the repository's root, builds it (%w)", err)
	}
	return &bench{settings: s, root: root, dir: dir, unleash: func() {}}, nil
}

func (b *bench) close() {
	b.stopAll()
	b.unleash()
	_ = os.RemoveAll(b.dir)
}

// say prints a line of progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench  %-12s%s\n", b.row, fmt.Sprintf(format, args...))
}

// freeAddress is one on which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// k6 starts a script of scripts/, as npm run ramp would: with its collector's setting.
func (b *bench) k6(script string, env map[string]string, args ...string) (*process, error) {
	variables := []string{"GOGC=400", "K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true"}
	for name, value := range env {
		variables = append(variables, name+"="+value)
	}
	args = append([]string{"run", "--quiet", "--no-color", "--include-system-env-vars"}, args...)
	path := filepath.Join("extensions/k6/cmd/bench/scripts", script)
	return b.start("k6 "+script, variables, filepath.Join(b.dir, "k6"), append(args, path)...)
}

// options are those of new Run(), as far as the rows need them.
type options map[string]any

// arrival starts k6 with the native instrument. dir is where its report will be.
func (b *bench) arrival(o options, pump bool) (p *process, dir string, err error) {
	dir, err = os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return nil, "", err
	}
	o["dir"] = dir
	text, err := json.Marshal(o)
	if err != nil {
		return nil, "", err
	}
	// In the environment, as some hold credentials.
	env := map[string]string{"RUN": string(text), "PUMP": fmt.Sprint(pump)}
	if b.profiles == "" {
		p, err = b.k6("arrival.js", env)
		return p, dir, err
	}
	api, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	p, err = b.k6("arrival.js", env, "--profiling-enabled", "--address", api)
	if err == nil {
		p.pprof = "http://" + api + "/debug/pprof/profile"
	}
	return p, dir, err
}

// profile keeps a CPU profile of a process over the time that it is measured, if it was started for that.
func (b *bench) profile(ctx context.Context, p *process) error {
	url := fmt.Sprintf("%s?seconds=%.0f", p.pprof, max(1, b.duration.Seconds()-1))
	answer, err := get(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, b.row+".pprof"), text, 0o600)
}

// result is what a row needs of run.json.
type result struct {
	Account struct{ Scheduled, Arrived int }
}

// finish waits until an arrival run has ended by itself, and returns its result if everything has arrived.
func finish(ctx context.Context, p *process, dir string) (result, error) {
	var r result
	if err := p.wait(ctx); err != nil {
		return r, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("run.json: %w", err)
	}
	if r.Account.Arrived != r.Account.Scheduled || r.Account.Arrived == 0 {
		return r, fmt.Errorf("%d of %d messages arrived: what was measured is not what was meant\n%s",
			r.Account.Arrived, r.Account.Scheduled, p.tail)
	}
	return r, nil
}

// use is what processes used between two moments.
type use struct {
	cpu     map[string]time.Duration
	count   int64
	seconds float64
	host    host
}

// each is the CPU, in µs, of one of what was counted.
func (u use) each() float64 {
	sum := time.Duration(0)
	for _, cpu := range u.cpu {
		sum += cpu
	}
	return micros(sum) / float64(u.count)
}

// of is one process's part of that.
func (u use) of(name string) float64 { return micros(u.cpu[name]) / float64(u.count) }

// share is the part of a core that a process used.
func (u use) share(name string) float64 { return u.cpu[name].Seconds() / u.seconds }

// without takes off what the same processes use for the rest of what they do, each time.
func (u use) without(rest use) use {
	left := use{cpu: map[string]time.Duration{}, count: u.count, seconds: u.seconds}
	for name, cpu := range u.cpu {
		left.cpu[name] = cpu - time.Duration(rest.of(name)*float64(u.count)*1000)
	}
	return left
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (u use) rate() float64 { return float64(u.count) / u.seconds }

// observe waits until count moves, lets the load warm up, and measures.
func (b *bench) observe(
	ctx context.Context, pids map[string]int, count func() (int64, error), watched ...*process,
) (use, error) {
	u := use{cpu: map[string]time.Duration{}}
	first := int64(-1)
	err := eventually(ctx, "the load", time.Minute, func() bool {
		n, err := count()
		if err == nil && first < 0 {
			first = n
		}
		return err == nil && n > first
	}, watched...)
	if err != nil {
		return u, err
	}
	if err := sleep(ctx, b.warmup, watched...); err != nil {
		return u, err
	}
	take := func(sign time.Duration) error {
		for name, pid := range pids {
			cpu, err := cpuOf(pid)
			if err != nil {
				return err
			}
			u.cpu[name] += sign * cpu
		}
		n, err := count()
		u.count += int64(sign) * n
		return err
	}
	for _, p := range watched {
		if p.pprof != "" {
			go func() {
				if err := b.profile(ctx, p); err != nil {
					b.say("no profile: %s", err)
				}
			}()
		}
	}
	began, before := time.Now(), hostTimes()
	if err := take(-1); err != nil {
		return u, err
	}
	if err := sleep(ctx, b.duration, watched...); err != nil {
		return u, err
	}
	u.seconds, u.host = time.Since(began).Seconds(), hostTimes().since(before)
	if err := take(1); err != nil {
		return u, err
	}
	if u.count <= 0 {
		return u, errors.New("nothing was counted while it was measured")
	}
	return u, nil
}
