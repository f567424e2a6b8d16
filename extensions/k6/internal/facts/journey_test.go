package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// foreign is a run of a pipeline that sends no stamps: of its deliveries the lateness is known, and nothing else.
func foreign(t *testing.T) *runfile.Run {
	t.Helper()
	r := golden(t, "passing")
	for name := range r.Latency.Stages {
		if name != "schedule" {
			r.Latency.Stages[name] = runfile.Latency{}
		}
	}
	for i := range r.Timeline {
		r.Timeline[i].Stages, r.Timeline[i].Stamped = nil, 0
	}
	r.Messages = &runfile.Messages{Slowest: []runfile.Slow{
		{ID: "r.1.7", ArrivalMS: 955, StagesMS: map[string]float64{"schedule": 1.61}},
		{ID: "r.1.8", ArrivalMS: 900, StagesMS: map[string]float64{"schedule": 600}},
		{ID: "r.1.9", ArrivalMS: 800, StagesMS: map[string]float64{}},
	}}
	Conclude(r, "")
	return r
}

// Regression: the table of the slowest messages said "longest stage: schedule, 1.61 ms" of 955.
func TestAStageIsNamedOnlyIfTheKnownOnesCoverMostOfTheTime(t *testing.T) {
	t.Parallel()
	slowest := foreign(t).Messages.Slowest
	require.NotNil(t, slowest[0].Longest)
	assert.Equal(t, "request to delivery", slowest[0].Longest.Stage)
	assert.InDelta(t, 953.39, slowest[0].Longest.MS, 1e-9)
	assert.Equal(t, "schedule", slowest[1].Longest.Stage, "most of this one is lateness")
	assert.Nil(t, slowest[2].Longest, "nothing is known")
}

func TestTheSlowestStageIsThatOfTheSlowestMessage(t *testing.T) {
	t.Parallel()
	r := foreign(t)
	assert.Equal(t, r.Messages.Slowest[0].Longest, r.Facts.SlowestStage)
	assert.InDelta(t, 953.39/955, r.Facts.SlowestStage.Share, 1e-9)
}

func TestTheTerminalNamesWhatNoStageOfASlowMessageCovers(t *testing.T) {
	t.Setenv("ARRIVAL_SLOWEST", "1")
	assert.Regexp(t, `schedule 1\.61 · request to delivery 953`, render.Text(foreign(t), "", render.Screen{}))
}

// Regression: the first screen of a foreign pipeline showed the stages of ours, empty.
func TestARunWithoutStampsIsTheScheduleAndTheRest(t *testing.T) {
	t.Parallel()
	for _, r := range []*runfile.Run{foreign(t), golden(t, "without-stages")} {
		Conclude(r, "")
		j := r.Facts.Journey
		assert.Equal(t, runfile.NoSource, j.Source)
		require.Len(t, j.Stages, 2)
		assert.Equal(t, []string{"schedule", "request to delivery"}, []string{j.Stages[0].Name, j.Stages[1].Name})
		assert.Equal(t, []string{"sent", "arrived"}, []string{j.Stages[1].From, j.Stages[1].To})
		assert.InDelta(t, 1, *j.Stages[0].Share+*j.Stages[1].Share, 1e-4)
		assert.Equal(t, "request to delivery", r.Facts.LargestStage.Stage)
	}
}

func TestARunWithoutStampsHasTheStagesOfItsSpans(t *testing.T) {
	t.Parallel()
	r := foreign(t)
	r.Spans = &runfile.Spans{Count: 300, Arrival: runfile.SpansStage{Mean: new(10.0)}, Stages: []runfile.SpansStage{
		{From: "due", To: "sent", Mean: new(0.5)},
		{From: "sent", To: "POST /orders", Mean: new(4.3), P50: new(0.5), Bound: 0.2},
		{From: "POST /orders", To: "arrived", Mean: new(5.2)},
	}}
	DivideTime(r)
	j := r.Facts.Journey
	assert.Equal(t, runfile.BySpans, j.Source)
	require.Len(t, j.Stages, 3)
	assert.Equal(t, "POST /orders → arrived", r.Facts.LargestStage.Stage)
	assert.InDelta(t, 0.52, *j.Stages[2].Share, 1e-9)
	assert.InDelta(t, 0.2, *j.Stages[1].BoundMS, 1e-9, "shorter than ten bounds of its clocks")
	assert.Nil(t, j.Stages[2].BoundMS)
}

func TestStampedStagesHaveTheirSharesOfAllAndOfTheSlowest(t *testing.T) {
	t.Parallel()
	r := golden(t, "own-stages")
	r.Tail = &runfile.Tail{Count: 10, Of: 1000, MeanMS: 100, StagesMS: map[string]float64{"outbox": 98, "push": 2}}
	Conclude(r, "")
	j := r.Facts.Journey
	assert.Equal(t, runfile.ByStamps, j.Source)
	sum, slow := 0.0, 0.0
	for i, row := range j.Stages {
		assert.Equal(t, r.Stages[i].Name, row.Name)
		sum, slow = sum+*row.Share, slow+*row.SlowShare
	}
	assert.InDelta(t, 1, sum, 1e-3)
	assert.InDelta(t, 1, slow, 1e-9)
	assert.Equal(t, new(1.0), j.Covers)
	assert.Equal(t, "outbox", r.Facts.LargestStage.Stage)
}

func TestOnlyAShortStageBetweenTwoClocksHasTheirBound(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Clock.OneHost, r.Clock.BoundMS = false, 0.03
	for name, p50 := range map[string]float64{
		"schedule": 0.01, "request": 0.4, "ingest": 0.01, "queue": 0.2, "relay": 0.01, "delivery": 0.3,
	} {
		l := r.Latency.Stages[name]
		l.P50 = &p50
		r.Latency.Stages[name] = l
	}
	bounded := func() (names []string) {
		DivideTime(r)
		for _, row := range r.Facts.Journey.Stages {
			if row.BoundMS != nil {
				names = append(names, row.Name)
			}
		}
		return names
	}
	assert.Equal(t, []string{"queue"}, bounded(), "ten times the bound suffices")
	r.Clock.BoundMS = 1000
	assert.Equal(t, []string{"request", "queue", "delivery"}, bounded(), "the stages of one process have one clock")
	r.Clock.OneHost = true
	assert.Empty(t, bounded(), "one host has one clock")
}

// Regression: the worst second was one of the warm-up, whose latencies no figure contains.
func TestTheWorstSecondIsAMeasuredOne(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	require.False(t, r.Steps[0].Measured)
	r.Timeline[int(r.Steps[0].StartS)+1].Arrival.P99 = new(5000.0)
	r.Timeline[35].Arrival.P99 = new(312.0)
	f := found(r, "^The worst second")
	require.Len(t, f, 1)
	assert.Regexp(t, "is 0:35, with arrival p99 312 ms", f[0].Text)
}

func TestTheWorstSecondNamesNoStageIfMostOfItsDeliveriesHaveNone(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	worst := &r.Timeline[35]
	worst.Arrival.P99, worst.Arrival.Mean, worst.Stages["queue"] = new(312.0), 200, 100
	worst.Stamped = worst.Arrival.Count/2 - 1
	assert.Regexp(t, `p99 312 ms\.$`, found(r, "^The worst second")[0].Text)
	worst.Stamped = worst.Arrival.Count
	assert.Regexp(t, `; queue took`, found(r, "^The worst second")[0].Text)
}
