package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// stack is a real pipeline, as npm run pipeline starts it.
type stack struct {
	Ingest    struct{ URL, Token string }
	Redis     struct{ URL string }
	MQTT      struct{ URL, Username, Password string }
	Processes map[string]int // pids of the processes that messages pass
}

func startStack(t testing.TB, env ...string) *stack {
	dir := directory(t)
	p := start(t, append([]string{
		"STACK_DIR=" + dir, "INGEST_PORT=0", "REDIS_PORT=0", "MQTT_PORT=0", "REDIS_URL=", "MQTT_URL=",
		"DRAIN_LIMIT_MS=0",
	}, env...), "node_modules/.bin/node", "pipeline/stack/main.ts")
	s := &stack{}
	waitUntil(t, "a pipeline", 30*time.Second, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
		return err == nil && json.Unmarshal(text, s) == nil
	}, p)
	return s
}

// count reads from the ingest how many messages have entered the queue.
func (s *stack) count() (int64, error) {
	const name = "arrival_ingest_messages_accepted_total"
	_, text, err := get(s.Ingest.URL + "/metrics")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no %s", s.Ingest.URL, name)
}

// options returns the options of a run through the pipeline.
func (s *stack) options(t testing.TB, profile string) options {
	broker, err := url.Parse(s.MQTT.URL)
	require.NoError(t, err)
	broker.User = url.UserPassword(s.MQTT.Username, s.MQTT.Password)
	return options{
		"profile": profile, "senders": measuringSenders, "redis": options{"url": s.Redis.URL},
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": broker.String()},
	}
}

// measuringSenders are enough to keep to the schedule when the pipeline is slow.
const measuringSenders = 64

// loadProfile is the profile of both sides.
func loadProfile() string { return phase(runSeconds(), float64(set.rate), "") }

// BenchmarkMeasuring compares the CPU per message of the real pipeline's processes, with and without measuring. It
// compares CPU at the same load, because the rate at saturation would show how much CPU k6 leaves to a pipeline on the
// same machine. No k6 has real-time priority: it would interrupt the pipeline at each message, which it can't on its
// own host.
func BenchmarkMeasuring(b *testing.B) {
	with, without := startStack(b), startStack(b, "STAMPS=false")
	broker, err := url.Parse(without.MQTT.URL)
	require.NoError(b, err)
	sink := startSink(b, broker.Host, without.MQTT.Username, without.MQTT.Password)
	rounds(b, func(t testing.TB) use {
		before := sink.taken.Load()
		u, _ := without.sendOnly(t)
		require.GreaterOrEqual(t, sink.taken.Load()-before, u.count, "the sink missed messages")
		return u
	}, func(t testing.TB) use {
		_, u := with.measured(t, nil).split("k6")
		return u
	}, func(b *testing.B, baseline, ours use) {
		report(b, "", 1e6/baseline.perItem(), 1e6/ours.perItem())
		reportParts(b, "", baseline, ours)
	})
}

// measured is the CPU use of the pipeline and k6 when k6 measures every message. more are further options.
func (s *stack) measured(t testing.TB, more options) use {
	o := s.options(t, loadProfile())
	maps.Copy(o, more)
	p := pumped(t, o)
	pids := maps.Clone(s.Processes)
	pids["k6"] = p.PID
	u := observe(t, pids, s.count, p)
	finish(t, p)
	p.checkSpans(t)
	return u
}

// sendOnly is the CPU use of the pipeline and of k6 for the same requests at the same times as in measured, when k6
// receives nothing. The pump sends here too, so that requests come as evenly.
func (s *stack) sendOnly(t testing.TB) (pipeline, k6 use) {
	return sendOnly(t, s.Ingest.URL, s.Ingest.Token, s.Processes, s.count)
}

func sendOnly(t testing.TB, url, token string, pids map[string]int, count counter) (pipeline, k6 use) {
	p := pumped(t, sending(loadProfile(), measuringSenders, url, token, silentBroker(t)))
	defer p.Kill()
	all := maps.Clone(pids)
	all["k6"] = p.PID
	k6, pipeline = observe(t, all, count, p).split("k6")
	return pipeline, k6
}

// spansOneIn messages have one whose spans the pipeline exports.
const spansOneIn = 100

// BenchmarkSpans compares the CPU per message of the real pipeline's processes, with spans of one message in a hundred
// and without. Both sides are measured at the same load, as in BenchmarkMeasuring; with spans, each request has a
// traceparent.
func BenchmarkSpans(b *testing.B) {
	at := test.FreeAddress(b)
	without := startStack(b, "OTEL_SDK_DISABLED=true")
	with := startStack(b, "OTEL_SDK_DISABLED=", "OTEL_EXPORTER_OTLP_PROTOCOL=",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+at+"/v1/traces")
	side := func(s *stack, more options) func(testing.TB) use {
		return func(t testing.TB) use {
			_, pipeline := s.measured(t, more).split("k6")
			return pipeline
		}
	}
	rounds(b, side(without, nil), side(with, options{"spans": options{"listen": at, "oneIn": spansOneIn}}),
		func(b *testing.B, baseline, ours use) { reportCost(b, "", baseline, ours) })
}

// checkSpans fails if a run asked for spans and got them for less than half of its sampled messages.
func (p *program) checkSpans(t testing.TB) {
	var run struct {
		Spans *struct{ Sampled, Count int }
	}
	p.readRun(t, &run)
	if s := run.Spans; s != nil {
		require.True(t, s.Sampled > 0 && 2*s.Count >= s.Sampled,
			"%d of %d sampled messages have stages by spans: what was measured is not what was meant", s.Count, s.Sampled)
	}
}

type paceResult struct {
	rate     float64            // messages/s
	p50, p99 float64            // arrival latency, ms
	stages   map[string]float64 // p50 of each stage, ms
}

// BenchmarkPace compares a pipeline that drains before it fills (PRIORITY=drain) with one whose processes have equal
// priority.
func BenchmarkPace(b *testing.B) {
	none := startStack(b, "PRIORITY=none")
	drain := startStack(b, "PRIORITY=drain", fmt.Sprintf("THROTTLE_BACKLOG=%d", paceBacklog))
	closed := fmt.Sprintf("phases: [{name: load, duration: %g, vus: %d}]\nflows: [{name: one}]\n",
		runSeconds(), paceConcurrency)
	b.Cleanup(func() { prioritizeK6(false) })
	type side struct{ full, light paceResult }
	by := func(s *stack, first bool) func(testing.TB) side {
		return func(t testing.TB) side {
			prioritizeK6(first)
			return side{s.pace(t, closed), s.pace(t, phase(runSeconds(), paceRate, ""))}
		}
	}
	rounds(b, by(none, false), by(drain, true), func(b *testing.B, baseline, ours side) {
		few := fmt.Sprintf("%d/s", paceRate)
		report(b, "p99", baseline.full.p99, ours.full.p99)
		report(b, "rate", baseline.full.rate, ours.full.rate)
		report(b, few, baseline.light.p50, ours.light.p50)
		for name, s := range map[string]side{"baseline": baseline, "ours": ours} {
			b.ReportMetric(s.full.p50, name+":p50-ms")
			b.ReportMetric(s.light.p99, unit(few, name+":p99-ms"))
			for stage, p50 := range s.light.stages {
				b.ReportMetric(p50, unit(few, name+":"+stage+"-ms"))
			}
		}
	})
}

// prioritizeK6 raises or resets k6's priority, as npm run scenario does with PRIORITY=drain: k6 shares the session
// of the bench. Without the right to do so nothing changes, and the stack lowers the priority of its ingest instead.
func prioritizeK6(yes bool) {
	nice := "0"
	if yes {
		nice = "-5"
	}
	_ = os.WriteFile("/proc/self/autogroup", []byte(nice), 0)
}

func (s *stack) pace(t testing.TB, profile string) paceResult {
	o := s.options(t, profile)
	o["inFlight"], o["canary"] = paceConcurrency, false
	p := pumped(t, o)
	finish(t, p)
	type times struct{ P50, P99 float64 }
	var run struct {
		Steps []struct {
			Rate float64 `json:"arrived_per_s"`
		}
		Latency struct {
			Arrival times
			Stages  map[string]times
		}
	}
	p.readRun(t, &run)
	all := run.Latency.Arrival
	result := paceResult{rate: run.Steps[0].Rate, p50: all.P50, p99: all.P99, stages: map[string]float64{}}
	for name, stage := range run.Latency.Stages {
		result.stages[name] = stage.P50
	}
	return result
}
