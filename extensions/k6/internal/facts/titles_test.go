package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// titleOf is the title of a chart after Conclude.
func titleOf(r *runfile.Run, key string) string {
	Conclude(r, "")
	return r.Facts.Titles[key]
}

// warm makes the first second, of the warm-up, the highest in all that a chart shows.
func warm(r *runfile.Run) *runfile.Run {
	s := &r.Timeline[0]
	s.Scheduled, s.Accepted, s.Arrived, s.Backlog, s.InFlight, s.ArrivedBytes = 99_999, 99_999, 99_999, 99_999, 99_999, 1e9
	slow := &runfile.Quantiles{Count: 1000, P50: new(697.0), P95: new(697.0), P99: new(697.0), Max: 697}
	s.Arrival, s.HTTP = slow, slow
	return r
}

// Regression: "at most 697 ms (0:00)", of the warm-up, stood beside "max 109 ms", of the measured phases.
func TestTheWarmUpIsInNoTitle(t *testing.T) {
	t.Parallel()
	r := warm(golden(t, "passing"))
	Conclude(r, "")
	for _, key := range []string{"p99", "messages", "deliveries", "backlog", "in_flight", "payload", "arrival", "http"} {
		require.NotEmpty(t, r.Facts.Titles[key], key)
		assert.NotContains(t, r.Facts.Titles[key], "(0:00)", key)
		assert.NotContains(t, r.Facts.Titles[key], "697", key)
		assert.NotContains(t, r.Facts.Titles[key], "99,999", key)
	}
	assert.Empty(t, found(r, "697 ms"), "nor in the worst second of the findings")
}

func TestTheTitleOfP99(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Regexp(t, `^p99 of each second was below the limit of 250 ms: at most [\d.]+ ms \(0:\d\d\)$`, titleOf(r, "p99"))
	r.Timeline[30].Arrival.P99 = new(250.0)
	assert.Equal(t, "p99 was at or above the limit of 250 ms in 1 second: at most 250 ms (0:30)", titleOf(r, "p99"))
	r.Verdict.Rules = nil
	assert.Equal(t, "p99 of each second was at most 250 ms (0:30)", titleOf(r, "p99"))
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.Arrival != nil {
			s.Arrival.Count = runfile.Hundred - 1
		}
	}
	assert.Regexp(t, `^p99 of each 5 s was at most ≈ [\d.]+ ms \(0:\d\d\)`, titleOf(r, "p99"))
	for i := range r.Timeline {
		r.Timeline[i].Bins = nil
	}
	assert.Regexp(t, `^The slowest delivery took [\d.]+ ms \(0:\d\d\)`, titleOf(r, "p99"))
}

func TestTheTitleOfABurst(t *testing.T) {
	t.Parallel()
	r := golden(t, "spike")
	assert.Regexp(t, `^The burst left a backlog of up to [\d,]+ deliveries \(0:\d\d\), which drained within \d+ s$`,
		titleOf(r, "burst"))
	for i := range r.Timeline {
		if r.Timeline[i].T > 3 {
			r.Timeline[i].Backlog = 900
		}
	}
	assert.Contains(t, titleOf(r, "burst"), "which had not drained when the run ended")
	assert.Empty(t, titleOf(golden(t, "passing"), "burst"))
}

func TestTheTitleOfMessages(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Up to 2,850 messages a second were scheduled (0:30); all 89,300 were accepted",
		titleOf(golden(t, "passing"), "messages"))
	assert.Contains(t, titleOf(golden(t, "closed"), "messages"), "were sent")
	assert.Contains(t, titleOf(golden(t, "refusing"), "messages"), "78,751 of 89,300 were not accepted")
	r := golden(t, "incomplete")
	r.Timeline[2].Accepted--
	assert.Contains(t, titleOf(r, "messages"), "2 of 16,383 had not been accepted when the record ended")
}

func TestTheTitleOfDeliveries(t *testing.T) {
	t.Parallel()
	assert.Contains(t, titleOf(golden(t, "passing"), "deliveries"), "all 126,900 that were due did")
	assert.Contains(t, titleOf(golden(t, "failing"), "deliveries"), "272 of 126,900 did not arrive")
	r := golden(t, "passing")
	r.Account.Deliveries = runfile.Deliveries{}
	assert.Equal(t, "0 deliveries were due: no message was accepted", titleOf(r, "deliveries"))
}

func TestTheTitleOfTheBacklog(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Backlog peaked at 14,161 deliveries (0:49)", titleOf(golden(t, "failing"), "backlog"))
	assert.Contains(t, titleOf(golden(t, "soak"), "backlog"), "0 deliveries at the end of every measured second")
}

func TestTheTitleOfWhatIsInFlight(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Timeline[20].InFlight = 7
	assert.Equal(t, "Up to 7 messages waited for an answer (0:20)", titleOf(r, "in_flight"))
}

func TestTheTitleOfThePayload(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Timeline[20].ArrivedBytes = 2_500_000
	assert.Equal(t, "Up to 2.50 MB of payload arrived a second (0:20)", titleOf(r, "payload"))
}

func TestTheTitlesOfTheWorstSeconds(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Timeline[30].Arrival.P99, r.Timeline[31].HTTP.P99 = new(100.0), new(90.0)
	Conclude(r, "")
	assert.Equal(t, "The worst second’s arrival p99 is 100 ms (0:30)", r.Facts.Titles["arrival"])
	assert.Equal(t, "The worst second’s HTTP p99 is 90.0 ms (0:31)", r.Facts.Titles["http"])
	assert.Contains(t, titleOf(golden(t, "soak"), "http"), "No second has enough samples")
}

func TestTheTitleOfAllDeliveries(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Equal(t, "Half of the deliveries arrived within 2.31 ms, one in 100 took longer than 4.39 ms",
		titleOf(r, "heat"))
	r.Latency.Arrival.Count = 50
	assert.Equal(t, "Too few deliveries for a percentile", titleOf(r, "heat"))
}

func TestTheTitlesOfASweep(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	assert.Regexp(t, `^Knee at 4 VUs: arrival p50 is [\d.]+ ms there and [\d.]+ ms with 16; request grows most$`,
		titleOf(r, "latency_by_vus"))
	assert.Equal(t, "At most 2,288 messages/s accepted and arrived, with 32 VUs", r.Facts.Titles["throughput_by_vus"])
	assert.Regexp(t, `^Universal Scalability Law: contention .*R² 0\.\d{3}\)\.$`, r.Facts.Titles["usl"])
	assert.NotNil(t, r.Facts.USL)
	assert.Contains(t, titleOf(golden(t, "throughput"), "latency_by_vus"), "No knee: up to 4 VUs")
	assert.Empty(t, titleOf(golden(t, "passing"), "throughput_by_vus"))
}

// Regression: a curve was drawn that explained 0.715 of the rates.
func TestAFitThatExplainsTooLittleHasANoteInstead(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	rates := []int{900, 1524, 300, 1400}
	for i := range rates {
		s := &r.Steps[i+1]
		s.Scheduled, s.Accepted, s.Taken, s.Due, s.Arrived, s.DurationS = rates[i], rates[i], rates[i], rates[i], rates[i], 1
		s.Backlog = new(0)
	}
	assert.Contains(t, titleOf(r, "usl"), "explains too little")
	assert.Nil(t, r.Facts.USL)
}

func TestTheTitlesOfPercentilesAndDistribution(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Equal(t, "Half of the deliveries arrived within 2.31 ms, 99.999 % within 16.4 ms", titleOf(r, "percentiles"))
	assert.Regexp(t, `^\d+ % of the deliveries took [\d.]+ to [\d.]+ ms$`, r.Facts.Titles["distribution"])
	assert.Contains(t, titleOf(golden(t, "started"), "percentiles"), "Too few")
}

func TestLatencyByLoadIsThatOfARamp(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "")
	require.NotEmpty(t, r.Facts.ByLoad)
	least, most := r.Facts.ByLoad[0], r.Facts.ByLoad[len(r.Facts.ByLoad)-1]
	assert.Less(t, least.PerS, most.PerS)
	assert.Contains(t, r.Facts.Titles["by_load"], "In the slowest second, at ")
	assert.Nil(t, byLoad(golden(t, "soak")), "the load stays")
	assert.Nil(t, byLoad(golden(t, "closed")))
}

func TestAQuantileOfBinsLiesWithinItsBin(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 1.122, *binQuantile([]int64{30, 100}, 0.5, 0), 0.001, "half through 1.00 to 1.26 ms")
	assert.InDelta(t, 1.1, *binQuantile([]int64{30, 100}, 0.5, 1.1), 0.001, "no delivery was slower")
	assert.Nil(t, binQuantile([]int64{30, 99}, 0.99, 0))
	assert.NotNil(t, binQuantile([]int64{30, 100}, 0.99, 0))
}

func TestTheTitleOfASearch(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "300 requests/s held; 327 requests/s did not, after 8 runs", titleOf(golden(t, "capacity"), "search"))
	assert.Equal(t, "No rate held; 10 requests/s did not, after 1 run", runfile.SearchTitle([]runfile.Probe{{Rate: 10}}))
}

// Regression: a rate of which every run was undecided "did not" hold by the page, and "may be higher" by the terminal.
func TestARateThatIsUndecidedDidNotFailToHold(t *testing.T) {
	t.Parallel()
	open := runfile.Probe{Rate: 327, Undecided: true}
	probes := []runfile.Probe{{Rate: 600}, {Rate: 300, Held: true}, {Rate: 300, Undecided: true}, open, open}
	assert.Equal(t, "300 requests/s held; 327 requests/s is undecided and may hold, after 5 runs",
		runfile.SearchTitle(probes))
	assert.Equal(t, "300 requests/s held; 327 requests/s did not, after 6 runs",
		runfile.SearchTitle(append(probes, runfile.Probe{Rate: 327})), "one run decides")
	assert.Equal(t, "300 requests/s held, after 1 run", runfile.SearchTitle(probes[1:2]))
}

func TestManyRefusalsHaveATitle(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "78,751 of 89,300 messages (88 %) were rejected", titleOf(golden(t, "refusing"), "refusals"))
	assert.Empty(t, titleOf(golden(t, "passing"), "refusals"))
}
