// Package test holds helpers that tests of several packages share.
package test

import (
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Steady is a profile of 300 requests, 570 messages and 810 deliveries.
const Steady = `
phases: [{name: steady, duration: 1, arrivalRate: 300}]
flows:
  - {name: direct, weight: 7}
  - {name: room, weight: 2, target: room, targets: 3, deliveries: 5}
  - {name: batch, weight: 1, messages: 10}
`

// Main is a TestMain that raises -test.parallel, for tests that mostly wait. npm run test:go gives each package one
// processor: on two, the race detector takes 70 % more CPU, as each page of its memory that moves stops the other.
func Main(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(5*runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}

// Start starts f, and closes it at the end of the test.
func Start(t testing.TB, f *fake.Pipeline) *fake.Pipeline {
	t.Helper()
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// noNames resolves nothing: tests stay on 127.0.0.1.
type noNames struct{}

func (noNames) LookupIP(host string) (net.IP, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// VU is the state of a VU of k6, which pushes its samples to the channel and logs to standard error.
func VU(registry *metrics.Registry, samples chan<- metrics.SampleContainer) *lib.State {
	logger := logrus.New()
	logger.SetOutput(os.Stderr)
	return &lib.State{
		Samples: samples, Tags: lib.NewVUStateTags(registry.RootTagSet()), Logger: logger,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry), Dialer: netext.NewDialer(net.Dialer{}, noNames{}),
	}
}

// Statuses returns a fake.Pipeline.Status: the status of the nth request, 202 by default.
func Statuses(byNth map[int]int) func(nth int) int {
	return func(nth int) int {
		if status, ok := byNth[nth]; ok {
			return status
		}
		return http.StatusAccepted
	}
}

// Run reads run.json from dir.
func Run(t testing.TB, dir string) *runfile.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "run.json"))
	require.NoError(t, err)
	var r runfile.Run
	require.NoError(t, json.Unmarshal(data, &r))
	return &r
}

// CheckSteady checks a run of Steady, and returns the number of verdict reasons about lateness.
func CheckSteady(t *testing.T, r *runfile.Run) (late int) {
	t.Helper()
	result, reasons, late := Verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	account := r.Account
	account.Reordered = 0 // concurrent requests may overtake each other
	assert.Equal(t, runfile.Account{
		Scheduled: 570, Arrived: 570, Balanced: true,
		Requests: runfile.Requests{Scheduled: 300, Sent: 300}, Deliveries: runfile.Deliveries{Due: 810, Arrived: 810},
	}, account)
	assert.Equal(t, int64(810), r.Latency.Arrival.Count)
	assert.Equal(t, int64(300), r.Latency.HTTP.Count)
	return late
}

// machine are the rules that a busy machine breaks. They have tests of their own.
var machine = []string{"lateness", "cpu", "socket_wait", "offered"}

// gravity orders the results of a run.
var gravity = []string{runfile.Pass, runfile.Invalid, runfile.Fail, runfile.Incomplete}

// Verdict returns the result and its reasons, doubts included, without the rules about the machine. late is the number
// of broken or undecided rules for which the machine is to blame.
func Verdict(r *runfile.Run) (result string, reasons []string, late int) {
	result = runfile.Pass
	if r.Verdict.Result == runfile.Incomplete { // also for a limit that was not judged, which is not a broken rule
		result = runfile.Incomplete
	}
	ofMachine := func(name string) bool { return slices.Contains(machine, name) }
	leftOut := map[string]bool{}
	for _, rule := range r.Verdict.Rules {
		of := rule.Result
		switch {
		case rule.Undecided && !slices.ContainsFunc(rule.DoubtedBy, func(name string) bool { return !ofMachine(name) }):
			late++
			leftOut[rule.Reason] = true
			continue
		case rule.Undecided:
			of = runfile.Invalid
		case !rule.IsBroken():
			continue
		case ofMachine(rule.Name):
			leftOut[rule.Reason] = true
			if rule.Result != runfile.Doubtful {
				late++
			}
			continue
		}
		if slices.Index(gravity, of) > slices.Index(gravity, result) {
			result = of
		}
	}
	for _, reason := range slices.Concat(r.Verdict.Reasons, r.Verdict.Doubts) {
		if !leftOut[reason] {
			reasons = append(reasons, reason)
		}
	}
	return result, reasons, late
}

// Notes are the notes of a run in which no error and no doubt is expected.
type Notes struct{ T testing.TB }

// Count implements run.Notes.
func (n Notes) Count(stage, class, example string) { n.T.Error(stage, class, example) }

// Distrust implements run.Notes.
func (n Notes) Distrust(format string, args ...any) { n.T.Errorf(format, args...) }
