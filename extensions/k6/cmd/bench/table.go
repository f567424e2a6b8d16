package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is a benchmark of this folder.
type row struct {
	name, what string
	rounds     int
	figures    []figure
	note       string // below the table
}

// figure is a line of the table. Its ratio is ours divided by the baseline.
type figure struct {
	name           string // empty if the row has one figure
	baseline, ours string
	unit           string
	limit          float64 // the ratio at most
	atLeast        bool    // the limit is the ratio at least, as for a throughput
}

const (
	paceBacklog     = 200  // queued messages from which on the ingest delays its answers
	paceConcurrency = 10   // requests in flight, to fill the cores
	paceRate        = 1500 // requests/s that do not fill the cores
	memoryLimit     = 150  // MB
)

var rows = []row{
	{
		"subscriber", "CPU a message of k6 with the native subscriber, against a handler in JavaScript", 6,
		[]figure{{baseline: "JS handler", ours: "k6/x/arrival", unit: "µs", limit: 0.2}},
		"receiving alone: without what it takes to send the messages, or to wait (the handler)",
	},
	{
		"websocket", "CPU a message of k6 with the native WebSocket receiver, against k6/websockets and run.arrived()", 6,
		[]figure{{baseline: "k6/websockets", ours: "websocket", unit: "µs", limit: 0.25}},
		"receiving alone: without what it takes to send the messages; both sides end in the same ledger",
	},
	{
		"sender", "CPU a request of run.send(), against k6/http", 6,
		[]figure{{baseline: "k6/http", ours: "run.send()", unit: "µs", limit: 0.4}},
		"10 VUs, as fast as they go, one iteration and one call from JavaScript for each request on both sides; " +
			"ours are all due before they are sent, are entered into the ledger, and arrive nowhere",
	},
	{
		"pump", "CPU a request of run.pump(), against wrk", 7,
		[]figure{{baseline: "wrk -t1 -c10", ours: "run.pump()", unit: "µs", limit: 2}},
		"10 connections to the same server; wrk goes as fast as it can, the pump sends each request when it is due, " +
			"at 65 % of wrk's rate",
	},
	{
		"measuring", "messages a CPU second of the pipeline, every message measured, against none", 12,
		[]figure{{baseline: "not measured", ours: "every message", unit: "/CPU s", limit: 0.97, atLeast: true}},
		"CPU of ingest, Redis, relay and Mosquitto: the throughput of a pipeline on its own host (at saturation the " +
			"ratio would show what CPU k6 leaves here)",
	},
	{
		"spans", "CPU a message of the pipeline with spans of one message in a hundred, against without", 12,
		[]figure{{baseline: "no spans", ours: "1 % sampled", unit: "µs", limit: 1.02}},
		"CPU of ingest, Redis, relay and Mosquitto",
	},
	{
		"peer", "CPU a message of all processes and k6's subscriber, against a plain Go pipeline", 6,
		[]figure{
			{baseline: "a Go pipeline", ours: "ours", unit: "µs", limit: 0.75},
			{name: "LINGER_MS=1", baseline: "a Go pipeline", ours: "ours", unit: "µs", limit: 0.75},
		},
		"the Go pipeline is net/http, LPUSH, BRPOP and QoS 0 with 4 threads, ours has an append-only file, QoS 1 and " +
			"credentials, and measures every message",
	},
	{
		"pace", "arrival p99 and rate with the cores full, PRIORITY=drain and throttled, against PRIORITY=none", 6,
		[]figure{
			{name: "p99", baseline: "PRIORITY=none", ours: "drain, throttled", unit: "ms", limit: 0.25},
			{name: "rate", baseline: "PRIORITY=none", ours: "drain, throttled", unit: "/s", limit: 0.9, atLeast: true},
			{name: fmt.Sprintf("%d/s", paceRate), baseline: "PRIORITY=none", ours: "drain, throttled", unit: "ms",
				limit: 1.1},
		},
		fmt.Sprintf("p99 and rate with %d requests under way; %d/s: arrival p50", paceConcurrency, paceRate),
	},
	{
		"memory", "resident memory of k6 after millions of measured messages, against what is allowed", 1,
		[]figure{{baseline: "allowed", ours: "k6", unit: "MB", limit: 1}},
		"peak resident memory of k6, its summary included; MB of 1024² bytes",
	},
}

// title is the name of the row's benchmark, without its prefix.
func (r row) title() string { return strings.ToUpper(r.name[:1]) + r.name[1:] }

// unit names a value of a figure in the output of a benchmark.
func unit(figure, value string) string {
	return strings.TrimPrefix(figure+":"+value, ":")
}

// median is a value over the rounds, with its 95 % confidence interval: "3%" to either side, "∞" after fewer
// than six rounds.
type median struct {
	value    float64
	interval string
}

func (f figure) holds(ratio float64) bool {
	if f.atLeast {
		return ratio >= f.limit
	}
	return ratio > 0 && ratio <= f.limit // a cost below 0: more was subtracted than measured
}

func (f figure) wanted() string {
	sign := "≤"
	if f.atLeast {
		sign = "≥"
	}
	return fmt.Sprintf("%s %.2f", sign, f.limit)
}

// table shows the rows' figures. The ratio is the median of the rounds' ratios: each round measures both sides one
// after the other, so a machine that drifts changes both.
func table(rows []row, medians map[string]median) (text string, hold bool, err error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\nfigure\tbaseline\tours\tratio\t95 %\twanted\tok")
	hold = true
	for _, r := range rows {
		for _, f := range r.figures {
			of := func(value string) median {
				m, found := medians[r.title()+" "+unit(f.name, value)]
				if !found && err == nil {
					err = fmt.Errorf("%s: the benchmark did not report %q", r.name, unit(f.name, value))
				}
				return m
			}
			ratio, ok := of("ratio"), "yes"
			if !f.holds(ratio.value) {
				ok, hold = "NO", false
			}
			fmt.Fprintf(w, "%s\t%s %s %s\t%s %s %s\t%.3f\t± %s\t%s\t%s\n",
				strings.TrimSuffix(r.name+", "+f.name, ", "), f.baseline, significant(of("baseline").value), f.unit,
				f.ours, significant(of("ours").value), f.unit, ratio.value, ratio.interval, f.wanted(), ok)
		}
	}
	_ = w.Flush() // into memory
	for _, r := range rows {
		fmt.Fprintf(&b, "\n%s: %s", r.name, r.note)
	}
	fmt.Fprintf(&b, "\n\nCPU of each process, rates and the load of the machine: go run %s %s\n", benchstat, results)
	return b.String(), hold, err
}

// significant formats a figure with 3 digits; the others are noise.
func significant(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
