package engine

import (
	"context"
	"encoding/json"
	"math"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/origin"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// baseline is how long before the run telemetry is read, for the initial values of counters.
const baseline = 3 * time.Second

// telemetryEntry is an entry of the telemetry stream: a process's resources, counters and clock.
type telemetryEntry struct {
	CPUPercent *float64           `json:"cpu_percent"`
	RSSMB      *float64           `json:"rss_mb"`
	Gauges     map[string]float64 `json:"gauges"`
	Counters   map[string]float64 `json:"counters"`
	Clock      *struct {
		Offset float64  `json:"offset_us"`
		Bound  *float64 `json:"bound_us"` // null: it has not reached Redis
	} `json:"clock"`
}

// telemetry gathers resources, counters and clock accuracy of the pipeline's processes. Their stream keeps its newest
// 20,000 entries, one a second of each process, so a run reads it on its way.
type telemetry struct {
	client  *store.Store
	after   string // the ID of the last entry that was read; empty: none was
	rows    map[string]runfile.Readings
	figures map[string]*runfile.SampleBins
	clocks  map[string]runfile.ProcessClock
}

func newTelemetry(client *store.Store) *telemetry {
	return &telemetry{
		client: client, rows: map[string]runfile.Readings{}, figures: map[string]*runfile.SampleBins{},
		clocks: map[string]runfile.ProcessClock{},
	}
}

// telemetryPeriod is short enough for the entries of 300 processes.
const telemetryPeriod = time.Minute

// follow reads until ctx ends. The next reading makes up for one that fails.
func (t *telemetry) follow(ctx context.Context, e *Engine) {
	next := time.NewTicker(telemetryPeriod)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			_ = t.read(ctx, e)
		}
	}
}

// read reads what has come since the last call.
func (t *telemetry) read(ctx context.Context, e *Engine) error {
	epoch := e.Clock.At(e.Epoch)
	offset := e.Clock.Offset(epoch)
	from := "(" + t.after
	if t.after == "" {
		from = strconv.FormatInt((epoch+offset-baseline.Microseconds())/1000, 10)
	}
	return t.client.Scan(ctx, t.client.Telemetry(), from, func(entry redis.XMessage) {
		t.after = entry.ID
		name, _ := entry.Values["process"].(string)
		data, _ := entry.Values["data"].(string)
		stamp, _ := entry.Values["at"].(string)
		at, err := strconv.ParseInt(stamp, 10, 64)
		var s telemetryEntry
		if err != nil || name == "" || json.Unmarshal([]byte(data), &s) != nil {
			return
		}
		second := int(math.Floor(float64(at-offset-epoch) / 1e6)) // the run's second, as in the timeline
		if t.figures[name] == nil {
			t.figures[name] = &runfile.SampleBins{}
		}
		t.figures[name].Add(runfile.Sample{T: second, Gauges: s.Gauges, Counters: s.Counters})
		if second < 0 {
			return
		}
		if c := s.Clock; c != nil && c.Bound != nil {
			t.clocks[name] = runfile.ProcessClock{
				Process: name, OffsetMS: c.Offset / 1000, BoundMS: max(*c.Bound/1000, t.clocks[name].BoundMS),
			}
		}
		if s.CPUPercent != nil || s.RSSMB != nil {
			rows := t.rows[name]
			rows.Add(second, s.CPUPercent, s.RSSMB)
			t.rows[name] = rows
		}
	})
}

// end reads the rest, and notes all for the report.
func (t *telemetry) end(ctx context.Context, e *Engine) {
	if err := t.read(ctx, e); err != nil {
		e.notes.Count("telemetry", "not read", err.Error())
		e.notes.Distrust("the clocks of the pipeline's processes could not be read: %s", err)
	}
	var resources []runfile.Resource
	var known []runfile.ProcessClock
	for _, name := range sortedKeys(t.figures) {
		r := runfile.NewResource(name, t.rows[name])
		r.Figures = t.figures[name].Figures()
		if len(r.Series) > 0 || r.Figures != nil {
			resources = append(resources, r)
		}
	}
	for _, name := range sortedKeys(t.clocks) {
		known = append(known, t.clocks[name])
	}
	e.notes.note(func() {
		e.notes.resources, e.notes.processes = append(e.notes.resources, resources...), append(e.notes.processes, known...)
	})
}

// gitAndCI describes the commit and the CI job of this process. The first call, before the load, asks git.
var gitAndCI = sync.OnceValues(func() (*origin.Git, *origin.CI) { return origin.Of(".", os.Getenv) })

// environment describes the generator's machine and where the run came from. What the system does not report is null.
func (d description) environment() map[string]any {
	env := map[string]any{
		"os": runtime.GOOS, "arch": runtime.GOARCH, "cores": runtime.NumCPU(), "gomaxprocs": runtime.GOMAXPROCS(0),
		// its cores
		"arrival": runfile.Version, "go": runtime.Version(), "shared_host": d.run.options.OneHost ||
			isLoopback(d.run.options.Ingest.URL),
		"hostname": nil, "cpu": nil, "memory_mb": nil, "kernel": nil, "tcp_congestion_control": nil, "pipeline": nil,
		"calibration_us": calibration(),
	}
	env["git"], env["ci"] = gitAndCI()
	if name, err := os.Hostname(); err == nil {
		env["hostname"] = name
	}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		env["cpu"] = info[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		env["memory_mb"] = m.Total / 1_000_000
	}
	if kernel, err := host.KernelVersion(); err == nil {
		env["kernel"] = kernel
	}
	// The congestion control limits what a connection has in flight, and so how long small messages wait for
	// each other. Linux only.
	if name, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control"); err == nil {
		env["tcp_congestion_control"] = strings.TrimSpace(string(name))
	}
	if len(d.run.options.Facts) > 0 {
		env["pipeline"] = d.run.options.Facts
	}
	return env
}

// loopback reports whether all addresses of the run are on this host.
func (o *Options) loopback() bool {
	away := func(s receive.Server) bool { return !isLoopback(s.URL) }
	return o.OneHost || isLoopback(o.Ingest.URL) && (o.Redis.URL == "" || isLoopback(o.Redis.URL)) &&
		!slices.ContainsFunc(o.from.Servers, away)
}

func isLoopback(url string) bool {
	a, err := address.Parse(address.Any, url)
	return err == nil && !slices.ContainsFunc(a.Nodes, func(node address.Node) bool {
		return node.Host != "localhost" && !net.ParseIP(node.Host).IsLoopback()
	})
}

// k6Version is the version of k6 that this binary was built with.
func k6Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "go.k6.io/k6/v2" {
				return strings.TrimPrefix(d.Version, "v")
			}
		}
	}
	return "unknown"
}
