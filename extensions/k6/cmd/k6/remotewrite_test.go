package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	prompb "buf.build/gen/go/prometheus/prometheus/protocolbuffers/go"
	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// prometheus is a remote-write receiver that keeps the latest value of each metric.
type prometheus struct {
	mu     sync.Mutex
	latest map[string]float64 // by name
	failed error
}

func (p *prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.take(r.Body); err != nil {
		p.failed = err
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (p *prometheus) take(body io.Reader) error {
	packed, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	message, err := snappy.Decode(nil, packed)
	if err != nil {
		return err
	}
	var write prompb.WriteRequest
	if err := proto.Unmarshal(message, &write); err != nil {
		return err
	}
	for _, series := range write.GetTimeseries() {
		for _, label := range series.GetLabels() {
			if label.GetName() == "__name__" {
				p.latest[label.GetValue()] = series.GetSamples()[len(series.GetSamples())-1].GetValue()
			}
		}
	}
	return nil
}

// markedAsFailed is k6's exit code for a failed run whose script has no thresholds.
const markedAsFailed = 110

const (
	remoteWriteScript = `
import { Run } from 'k6/x/arrival';
const run = new Run(JSON.parse(__ENV.RUN));
export const options = { scenarios: run.scenarios() };
export function subscriber() { run.collect(); }
export function sender() { run.send(); }
`
	remoteWriteProfile = "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: one}]"
	remoteWriteDelay   = 30 * time.Millisecond
)

// k6's remote write sends every metric of the Grafana dashboard, in the dashboard's unit.
func TestRemoteWrite(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	pipeline := test.Start(t, &fake.Pipeline{Delay: remoteWriteDelay})
	store := &prometheus{latest: map[string]float64{}}
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)

	dir := t.TempDir()
	script := filepath.Join(dir, "script.js")
	require.NoError(t, os.WriteFile(script, []byte(remoteWriteScript), 0o600))
	described, err := json.Marshal(map[string]any{
		"name": "remotewrite", "dir": dir, "profile": remoteWriteProfile, "canary": false,
		"ingest": map[string]any{"url": pipeline.IngestURL()}, "mqtt": map[string]any{"url": pipeline.MQTTURL()},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(root, "k6"),
		"run", "--quiet", "--no-color", "--address", "", "-o", "experimental-prometheus-rw", script)
	command.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "K6_AUTO_EXTENSION_RESOLUTION=false", "K6_NO_USAGE_REPORT=true",
		"RUN=" + string(described), "K6_PROMETHEUS_RW_SERVER_URL=" + server.URL,
		"K6_PROMETHEUS_RW_TREND_STATS=p(50),p(95),p(99),max",
	}
	out, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != markedAsFailed { // a busy machine makes the run invalid
		require.NoError(t, err, "%s", out)
	}

	store.mu.Lock()
	defer store.mu.Unlock()
	require.NoError(t, store.failed)
	dashboard, err := os.ReadFile(filepath.Join(root, "reports/grafana/arrival.json"))
	require.NoError(t, err)
	names := regexp.MustCompile(`\bk6_\w+`).FindAllString(string(dashboard), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		assert.Contains(t, store.latest, name)
	}
	for name, want := range map[string]float64{"scheduled": 50, "arrived": 50, "dropped": 0, "lost": 0} {
		assert.InDelta(t, want, store.latest["k6_arrival_"+name+"_total"], 0, name)
	}
	p50 := store.latest["k6_arrival_latency_p50"]
	assert.GreaterOrEqual(t, p50, remoteWriteDelay.Seconds())
	assert.Less(t, p50, float64(remoteWriteDelay.Milliseconds()), "seconds, not ms")
}
