package main

// mutant is a change of the instrument that makes a figure wrong.
type mutant struct {
	name     string
	file     string // in the Go module
	from, to string // the text occurs once in the file
	in       string // the case, in its short form, that must see it
	by       string // how the line begins that sees it
}

// Cases of the mutants.
const (
	knownCase   = "a known distribution, 1 in 10 with stamps out of order"
	senderCase  = "one sender, answers after 200 and 100 ms"
	flowsCase   = "three flows after a slow warm-up"
	mergedCase  = "two instances, 50 and 200 ms"
	clockCase   = "clock 500 ms ahead, an answer takes 2 ms"
	cpuCase     = "k6 out of CPU"
	freezeCase  = "freeze of 1 s"
	handlerCase = "handler late by 20 ms"
)

const (
	measuredIf = "if l.phases[s.Phase].Measured {\n\t\t\tl.lateness"
	extremes   = "sum.Min, sum.Max = min(sum.Min, micros(*p.Min)), max(sum.Max, micros(*p.Max))"
)

var mutants = []mutant{
	{
		"lateness ten times too small", "internal/ledger/sent.go",
		"late := at - l.epoch - due", "late := (at - l.epoch - due) / 10", senderCase, "lateness, p99",
	},
	{
		"lateness without the first second", "internal/ledger/sent.go",
		measuredIf, "if due >= 1_000_000 {\n\t\t\tl.lateness", senderCase, "lateness, slowest",
	},
	{
		"lateness of a second ten times too small", "internal/ledger/seconds.go",
		"uint32(late)+1)", "uint32(late/10)+1)", senderCase, "latest by second",
	},
	{
		"answers ten times too fast", "internal/ledger/sent.go",
		"l.times[phase].HTTP.Add(us)", "l.times[phase].HTTP.Add(us / 10)", senderCase, "http, slowest",
	},
	{
		"the rule on lateness off", "internal/judge/instrument.go",
		"lateShare   = 0.05", "lateShare   = 50", senderCase, "rule lateness",
	},
	{
		"p99 from the bucket of p98", "internal/runfile/latency.go",
		"at(50, 75, 90, 95, 99, 99.9)", "at(50, 75, 90, 95, 98, 99.9)", knownCase, "arrival, p99 ",
	},
	{
		"percentiles one rank too low", "internal/runfile/latency.go",
		"float64(s.Count)-noise)", "float64(s.Count)-1)", knownCase, "arrival, p50",
	},
	{
		"a histogram that ends at 3.6 s", "internal/ledger/series.go",
		"int64(3_600_000_000)", "int64(3_600_000)", knownCase, "arrival, p99.9",
	},
	{
		"a mean without what is above 3.6 s", "internal/ledger/series.go",
		"s.Sum += us * int64(n)", "s.Sum += min(us, 3_600_000) * int64(n)", knownCase, "arrival, mean",
	},
	{
		"from send counted from the due time", "internal/ledger/arrive.go",
		"t.FromSend.Add(at - sent)", "t.FromSend.Add(at - due)", knownCase, "from send, earlier by",
	},
	{
		"arrival counted from the send", "internal/ledger/arrive.go",
		"Arrival: at - due}", "Arrival: at - sent}", freezeCase, "arrivals slower than 100 ms",
	},
	{
		"negative stages not counted", "internal/ledger/arrive.go",
		"if l.negative++; l.negative", "if l.negative", knownCase, "negative",
	},
	{
		"the rule on negative stages off", "internal/judge/instrument.go",
		"negativeShare = 0.01", "negativeShare = 1.0", knownCase, "rule negative",
	},
	{
		"a log that is a second late", "internal/engine/recorder.go",
		"SetStartTimeMs(e.Epoch.Add(from).UnixMilli())\n\t\ts.Histogram.SetEndTimeMs(e.Epoch.Add(to)",
		"SetStartTimeMs(e.Epoch.Add(to).UnixMilli())\n\t\ts.Histogram.SetEndTimeMs(e.Epoch.Add(to+tick)",
		knownCase, "log elsewhere",
	},
	{
		"a log whose base is a second late", "internal/runfile/directory.go",
		"w.SetBaseTime(startMS)", "w.SetBaseTime(startMS + 1000)", knownCase, "log elsewhere",
	},
	{
		"warm-up in the latencies", "internal/engine/describe.go",
		"if p.Measured {\n\t\t\ttotal.Merge", "{\n\t\t\ttotal.Merge", flowsCase, "latency samples",
	},
	{
		"warm-up in the flows and the slowest", "internal/ledger/arrive.go",
		"a.At, l.phases[slot.Phase].Measured", "a.At, true", flowsCase, "samples of the measured phase",
	},
	{
		"warm-up in the lateness", "internal/ledger/sent.go",
		measuredIf, "{\n\t\t\tl.lateness", flowsCase, "samples of the measured phase",
	},
	{
		"warm-up in the account of stamps", "internal/ledger/arrive.go",
		"ok && l.phases[phase].Measured {", "ok && phase >= 0 {", flowsCase, "samples of the measured phase",
	},
	{
		"the latency of one flow under the next", "internal/ledger/arrive.go",
		"l.flowTimes[slot.Flow].Add", "l.flowTimes[(slot.Flow+1)%len(l.flows)].Add", flowsCase, "flow near",
	},
	{
		"the name of one flow at the next", "internal/engine/describe.go",
		"d.run.Ledger.FlowTimes(i)", "d.run.Ledger.FlowTimes((i + 1) % len(standing.Flows))", flowsCase, "flow near, p50",
	},
	{
		"the latency of one step under the next", "internal/engine/describe.go",
		"times := d.run.Ledger.Times(i)", "times := d.run.Ledger.Times((i + 1) % len(spans))", flowsCase, "step warm-up",
	},
	{
		"a backlog that counts half", "internal/ledger/seconds.go",
		"l.interval.Backlog = l.owed", "l.interval.Backlog = l.owed / 2", flowsCase, "backlog by second",
	},
	{
		"the max of a merge from the first part", "internal/merge/distributions.go",
		extremes,
		"sum.Min = min(sum.Min, micros(*p.Min))\n\t\tif sum.Max == math.MinInt64 {\n\t\t\tsum.Max = micros(*p.Max)\n\t\t}",
		mergedCase, "merged arrival, min and max",
	},
	{
		"the min of a merge from the last part", "internal/merge/distributions.go",
		extremes, "sum.Min, sum.Max = micros(*p.Min), max(sum.Max, micros(*p.Max))",
		mergedCase, "merged arrival, min and max",
	},
	{
		"the max of a merged second from the first part", "internal/merge/distributions.go",
		"all.Max = max(all.Max, q.Max)", "if all.Max == 0 {\n\t\t\t\tall.Max = q.Max\n\t\t\t}",
		mergedCase, "merged seconds, slowest",
	},
	{
		"counts of a merge from the last part", "internal/merge/combine.go",
		"to.SetInt(to.Int() + p.Int())", "to.SetInt(p.Int())", mergedCase, "merged account",
	},
	{
		"a merged log that is a second late", "internal/merge/seconds.go",
		"startMS + int64(t)*1000)\n\t\t\t\th.SetEndTimeMs(startMS + int64(t+1)*1000)",
		"startMS + int64(t+1)*1000)\n\t\t\t\th.SetEndTimeMs(startMS + int64(t+2)*1000)",
		mergedCase, "log elsewhere",
	},
	{
		"the bound of the clock a tenth", "internal/clock/clock.go",
		"math.Max(c.worst, c.current.Bound(now)),", "math.Max(c.worst, c.current.Bound(now)) / 10,", clockCase,
		"clock, offset",
	},
	{
		"the rule on CPU off", "internal/judge/instrument.go",
		"busyShare   = 0.9", "busyShare   = 9", cpuCase, "rule cpu",
	},
	{
		"half of the CPU", "internal/engine/recorder.go",
		"m.cpu) / span * 100)", "m.cpu) / span * 50)", cpuCase, "CPU of k6",
	},
	{
		"a wait in the socket ten times too short", "internal/ledger/arrive.go",
		"r.Waits.Add(a.Waited)", "r.Waits.Add(a.Waited / 10)", handlerCase, "lateness of the handler",
	},
}
