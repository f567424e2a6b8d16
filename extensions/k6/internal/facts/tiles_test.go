package facts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// tileOf is a tile of a run after Conclude; without a name there is none.
func tileOf(t *testing.T, r *runfile.Run, name string) runfile.Tile {
	t.Helper()
	Conclude(r, "")
	for _, tile := range r.Facts.Tiles {
		if tile.Name == name {
			return tile
		}
	}
	return runfile.Tile{}
}

// doubting is a broken rule that puts a claim in doubt.
func doubting(claim, direction string) runfile.Rule {
	return runfile.Rule{Name: "lateness", OK: new(false), Result: runfile.Doubtful,
		Doubts: []runfile.Doubt{{Claim: claim, Direction: direction}}}
}

func TestAFigureInDoubtSaysInWhichDirection(t *testing.T) {
	t.Parallel()
	for direction, want := range map[string][2]string{
		runfile.TooHigh: {runfile.AtMost, "at most 4.39"}, runfile.TooLow: {runfile.AtLeast, "at least 4.39"},
		runfile.Either: {runfile.About, "≈ 4.39"},
	} {
		r := golden(t, "passing")
		r.Verdict.Rules = append(r.Verdict.Rules, doubting(runfile.ArrivalClaim, direction))
		tile := tileOf(t, r, "Arrival p99")
		assert.Equal(t, want, [2]string{tile.Doubt, tile.Text})
		assert.Empty(t, tileOf(t, r, "HTTP p99").Doubt, "of another claim")
	}
	r := golden(t, "passing")
	r.Verdict.Rules = append(r.Verdict.Rules, doubting(runfile.ArrivalClaim, runfile.TooHigh),
		doubting(runfile.ArrivalClaim, runfile.TooLow))
	assert.Equal(t, runfile.About, tileOf(t, r, "Arrival p99").Doubt)
}

func TestTheP99StandsBesideItsLimitAndItsInterval(t *testing.T) {
	t.Parallel()
	r := steadyRun(300, 400, 3)
	for i := range r.Timeline { // alike, and not the same
		n := []int64{4, 2, 3, 6, 5, 1, 4, 7}[i%8]
		r.Timeline[i].DueBins = []int64{34, 400 - n, n}
	}
	tile := tileOf(t, r, "Arrival p99")
	assert.Regexp(t, `^limit 250 ms, 100 % within; 95 % interval [\d.]+ to [\d.]+ ms$`, tile.Note)
	i := r.Facts.P99Interval
	require.NotNil(t, i)
	assert.LessOrEqual(t, i.LowMS, i.HighMS)
	assert.Equal(t, r.Latency.Arrival.Count, *tile.Samples)
	r.Latency.Arrival.Count = runfile.Hundred - 1
	few := tileOf(t, r, "Arrival p99")
	assert.Equal(t, []string{none, "too few deliveries"}, []string{few.Text, few.Note})
	assert.Nil(t, few.Value)
}

func TestOnlyABrokenLimitWorries(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	assert.True(t, tileOf(t, r, "Arrival p99").Worry)
	assert.True(t, tileOf(t, r, "Not arrived").Worry)
	assert.False(t, tileOf(t, golden(t, "passing"), "Arrival p99").Worry)
}

// Regression: a passing run whose script allows a loss had the figure of the loss in red, or did not mention it.
func TestWhatDidNotArriveHasItsEndAndWhetherItIsAllowed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "0.22 % of 89,300: lost", tileOf(t, golden(t, "failing"), "Not arrived").Note)
	r := golden(t, "passing")
	r.Account.Lost, r.Account.Rejected, r.Account.Arrived = 5, 2, r.Account.Arrived-7
	tile := tileOf(t, r, "Not arrived")
	assert.Equal(t, "7", tile.Text)
	assert.Contains(t, tile.Note, "2 rejected, 5 lost; the script allows it")
	assert.False(t, tile.Worry)
}

// Regression: the tile had the p99 of ramp and hold together beside the rate of the hold.
func TestTheRateStandsWithTheP99AtThatRate(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	hold := &r.Steps[len(r.Steps)-1]
	hold.Latency.Arrival.P99 = new(4.54)
	assert.Equal(t, "held, with p99 4.54 ms at that rate", tileOf(t, r, "Rate").Note)
	hold.Latency.Arrival.P99 = new(300.0) // five lucky seconds of a phase that did not hold
	assert.Equal(t, "held for 5 s with p99 below 250 ms", tileOf(t, r, "Rate").Note)
}

func TestARunWithoutARateSaysWhyTheTileIsEmpty(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]string{
		"gap": "arrival p99 is undecided", "incomplete": "did not end", "unjudged": "not judged",
		"refusing": "none was held for 5 s",
	} {
		tile := tileOf(t, golden(t, name), "Rate")
		assert.Equal(t, none, tile.Text, name)
		assert.Contains(t, tile.Note, why, name)
	}
}

// Regression: the tiles of a sweep were those of all its steps together.
func TestTheTilesOfASweepAreThoseAtTheKnee(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	tile := tileOf(t, r, "Arrival p99")
	require.Equal(t, 4, r.Knee.VUs)
	for _, s := range r.Steps {
		if s.Measured && *s.VUs == 4 {
			assert.Equal(t, s.Latency.Arrival.P99, tile.Value)
			assert.InDelta(t, s.CarriedPerS, *tileOf(t, r, "Rate").Value, 0)
		}
	}
	assert.Contains(t, tile.Note, "at 4 VUs, the knee")
	assert.Nil(t, r.Facts.P99Interval)
}

func TestRequestsThatWereRefusedAreNoLatencyOfTheOthers(t *testing.T) {
	t.Parallel()
	assert.Empty(t, tileOf(t, golden(t, "refusing"), "HTTP p99").Name, "most were refused")
	r := golden(t, "passing")
	assert.NotContains(t, tileOf(t, r, "HTTP p99").Note, "refusals")
	r.Account.Requests.Failed = 10
	assert.Contains(t, tileOf(t, r, "HTTP p99").Note, "refusals included")
	// Regression: timeouts, which have no latency, were said to be included.
	r.Errors = []runfile.ErrorClass{{Stage: runfile.RequestStage, Class: "timeout", Count: 10}}
	assert.Contains(t, tileOf(t, r, "HTTP p99").Note, "46,000 requests that got one")
	r.Errors = append(r.Errors, runfile.ErrorClass{Stage: runfile.RequestStage, Class: "HTTP 503", Count: 1})
	assert.Contains(t, tileOf(t, r, "HTTP p99").Note, "refusals included")
}

// Regression: beside "16,382 of 16,383 messages had arrived" stood "Not arrived: 0 of 16,383 messages".
func TestMessagesThatWereUnderWayWhenTheRunWasCutOffAreNamed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "of 16,383 messages; 1 still under way at the end",
		tileOf(t, golden(t, "incomplete"), "Not arrived").Note)
	assert.Equal(t, "of 89,300 messages", tileOf(t, golden(t, "passing"), "Not arrived").Note)
}

func TestAFullHostThatIsSharedStandsInPlaceOfTheBusiestProcess(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	assert.Equal(t, "% of a core", tileOf(t, r, "Busiest process").Unit)
	for i := range r.Timeline {
		r.Timeline[i].Generator.HostPercent, r.Timeline[i].Generator.StealPercent = new(99.0), new(6.0)
	}
	r.Environment["shared_host"] = true
	tile := tileOf(t, r, "Host CPU")
	assert.Equal(t, "99.0", tile.Text)
	assert.Contains(t, tile.Note, "steal 6.00 % on average")
	assert.Empty(t, tileOf(t, r, "Busiest process").Name)
	figures := host(r)
	for i := range figures.T {
		figures.Gauges["id"][i], figures.Gauges["wa"][i] = new(0.0), new(0.0)
	}
	full := found(r, "The host was saturated")
	require.Len(t, full, 1)
	said, _, _ := strings.Cut(strings.TrimPrefix(full[0].Text, "The host was "), ": its")
	assert.Contains(t, tileOf(t, r, "Host CPU").Note, said, "tile and finding have one span")
	r.Environment["shared_host"] = false
	assert.Empty(t, tileOf(t, r, "Host CPU").Name)
}

func TestWithoutABalancedAccountThereIsNoTile(t *testing.T) {
	t.Parallel()
	r := golden(t, "unbalanced")
	Conclude(r, "")
	assert.NotNil(t, r.Facts.Tiles)
	assert.Empty(t, r.Facts.Tiles)
	assert.Empty(t, r.Facts.Titles["p99"])
}
