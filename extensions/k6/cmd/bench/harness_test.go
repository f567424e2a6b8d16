package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/load"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// root is the repository's, seen from this folder, where benchmarks run.
const root = "../../../.."

var (
	set    settings // given on the command line
	ctx    context.Context
	k6Path string // the k6 that is measured
)

func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) == 5 && args[0] == peerRole {
		fmt.Fprintln(os.Stderr, peerProcess(args[1], args[2], args[3], args[4]))
		os.Exit(1)
	}
	flag.Parse()
	var err error
	if set, err = parse(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var stop func()
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A build during the bench does not replace this binary.
	k6Path = filepath.Join(root, ".stack", fmt.Sprintf("bench-k6-%d", os.Getpid()))
	_ = os.Link(filepath.Join(root, "k6"), k6Path) // without it the first start says so
	code := m.Run()
	_ = os.Remove(k6Path)
	stop()
	os.Exit(code)
}

// use is the CPU that processes used while something was counted.
type use struct {
	cpu     map[string]time.Duration
	count   int64
	seconds float64
}

// perItem is the CPU of one counted item, in µs.
func (u use) perItem() float64 {
	sum := time.Duration(0)
	for _, cpu := range u.cpu {
		sum += cpu
	}
	return micros(sum) / float64(u.count)
}

// of is one process's part of perItem.
func (u use) of(name string) float64 { return micros(u.cpu[name]) / float64(u.count) }

// split separates the use of one process from that of the others.
func (u use) split(name string) (one, others use) {
	one, others = use{map[string]time.Duration{name: u.cpu[name]}, u.count, u.seconds}, u
	others.cpu = maps.Clone(u.cpu)
	delete(others.cpu, name)
	return one, others
}

// without subtracts the CPU per item that the same processes use for other work.
func (u use) without(rest use) use {
	left := use{cpu: map[string]time.Duration{}, count: u.count, seconds: u.seconds}
	for name, cpu := range u.cpu {
		left.cpu[name] = cpu - time.Duration(rest.of(name)*float64(u.count)*1000)
	}
	return left
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (u use) rate() float64 { return float64(u.count) / u.seconds }

// counter returns the number of counted items so far.
type counter func() (int64, error)

func counting(n *atomic.Int64) counter { return func() (int64, error) { return n.Load(), nil } }

// rounds makes a sub-benchmark whose every run, of -test.count, is a round. Disturbances last for seconds, so report
// computes ratios within a round.
func rounds[T any](b *testing.B, baseline, ours func(testing.TB) T, report func(b *testing.B, baseline, ours T)) {
	round := 0
	b.Run("round", func(b *testing.B) {
		if round < 0 {
			b.SkipNow() // a round failed
		}
		this := round
		round = -1
		pair := measure(this, func() T { return baseline(b) }, func() T { return ours(b) })
		round = this + 1
		report(b, pair[0], pair[1])
		b.ReportMetric(0, "ns/op") // leaves it out
		if average, err := load.Avg(); err == nil {
			b.ReportMetric(average.Load1, "load") // ratios from a busy machine are doubtful
		}
	})
}

// measure measures both sides. Each round swaps their order: a machine that drifts would favour the side that always
// goes first.
func measure[T any](round int, baseline, ours func() T) (pair [2]T) {
	for i := range pair {
		i = (i + round) % 2
		pair[i] = [...]func() T{baseline, ours}[i]()
	}
	return pair
}

// report reports a figure of a row.
func report(b *testing.B, figure string, baseline, ours float64) {
	b.ReportMetric(baseline, unit(figure, "baseline"))
	b.ReportMetric(ours, unit(figure, "ours"))
	b.ReportMetric(ours/baseline, unit(figure, "ratio"))
}

// reportCost reports the CPU per item, and what each process and the rates have to do with it.
func reportCost(b *testing.B, figure string, baseline, ours use) {
	report(b, figure, baseline.perItem(), ours.perItem())
	reportParts(b, figure, baseline, ours)
}

func reportParts(b *testing.B, figure string, baseline, ours use) {
	for side, u := range map[string]use{"baseline": baseline, "ours": ours} {
		b.ReportMetric(u.rate(), unit(figure, side+":per-s"))
		for name := range u.cpu {
			b.ReportMetric(u.of(name), unit(figure, side+":"+name+"-µs"))
		}
	}
}

// program is a process that the bench measures.
type program struct {
	*test.Process
	report string // run.json of a k6
	pprof  string // URL of the CPU profile; empty: write none
}

// start starts a program in the repository's root, with additional environment variables.
func start(t testing.TB, env []string, name string, args ...string) *program {
	return &program{Process: test.StartProcess(t, command(env, name, args...))}
}

func command(env []string, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = root
	c.Env = append(os.Environ(), env...)
	return c
}

// observe waits until count moves, lets the load warm up, and measures.
func observe(t testing.TB, pids map[string]int, count counter, watched ...*program) use {
	first := int64(-1)
	waitUntil(t, "the load", time.Minute, func() bool {
		n, err := count()
		if err == nil && first < 0 {
			first = n
		}
		return err == nil && n > first
	}, watched...)
	sleep(t, set.warmup, watched...)
	for _, p := range watched {
		if p.pprof != "" {
			go p.profile(t)
		}
	}
	u := use{cpu: map[string]time.Duration{}}
	take := func(sign int64) {
		for name, pid := range pids {
			cpu, err := cpuOf(pid)
			require.NoError(t, err)
			u.cpu[name] += time.Duration(sign) * cpu
		}
		n, err := count()
		require.NoError(t, err)
		u.count += sign * n
	}
	began := time.Now()
	take(-1)
	sleep(t, set.duration, watched...)
	u.seconds = time.Since(began).Seconds()
	take(1)
	require.Positive(t, u.count, "nothing was counted while it was measured")
	return u
}

// sleep waits. It fails if the bench is stopped or one of the programs ends.
func sleep(t testing.TB, d time.Duration, watched ...*program) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		require.NoError(t, ctx.Err())
	}
	for _, p := range watched {
		select {
		case <-p.Done:
			require.NoError(t, p.Failure())
		default:
		}
	}
}

// waitUntil polls until holds returns true.
func waitUntil(t testing.TB, what string, within time.Duration, holds func() bool, watched ...*program) {
	for deadline := time.Now().Add(within); !holds(); sleep(t, 20*time.Millisecond, watched...) {
		require.True(t, time.Now().Before(deadline), "%s did not come about within %s", what, within)
	}
}

// directory makes one for files that are not to lie in memory.
func directory(t testing.TB) string {
	dir, err := os.MkdirTemp(filepath.Join(root, ".stack"), "bench-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	dir, err = filepath.Abs(dir)
	require.NoError(t, err)
	return dir
}

// listen opens a free port.
func listen(t testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func get(url string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// readRun reads parts of the run.json of a k6 that has ended.
func (p *program) readRun(t testing.TB, parts any) {
	text, err := os.ReadFile(p.report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, parts))
}

// profile writes a CPU profile of a program while it is measured.
func (p *program) profile(t testing.TB) {
	_, text, err := get(fmt.Sprintf("%s?seconds=%.0f", p.pprof, max(1, set.duration.Seconds()-1)))
	if err == nil {
		err = os.MkdirAll(set.profiles, 0o700)
	}
	if err == nil {
		name, _, _ := strings.Cut(t.Name(), "/")
		err = os.WriteFile(filepath.Join(set.profiles, name+".pprof"), text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no profile:", err)
	}
}
