package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// The first figures of a run are those that its script asks for.
func TestTheFirstTilesAnswerTheQuestionOfTheScript(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"spike":       {"Drained", "1", "s", "limit 5 s; p99 back after 1 s"},
		"soak":        {"p99 growth", "+0.110", "ms", "limit 50 ms; second quarter to last"},
		"connections": {"Connections", "897", "", "held of 900, for 6 s"},
	} {
		r := golden(t, name)
		Conclude(r, "")
		tile := r.Facts.Tiles[0]
		assert.Equal(t, want, []string{tile.Name, tile.Text, tile.Unit, tile.Note}, name)
		assert.Len(t, r.Facts.Tiles, 6, name)
		for _, other := range r.Facts.Tiles {
			assert.NotEqual(t, "Rate", other.Name, "%s: the load was given", name)
		}
	}
	assert.True(t, tileOf(t, golden(t, "connections"), "Connections").Worry)
	assert.False(t, tileOf(t, golden(t, "spike"), "Drained").Worry)
	growth := tileOf(t, golden(t, "soak"), "Memory growth")
	assert.Equal(t, "limit 32 MB; of one process, at most", growth.Note)
	r := golden(t, "spike")
	r.Facts.Recovery = nil
	Conclude(r, "")
	r.Facts.Recovery.DrainedS, r.Facts.Recovery.BackS = nil, nil
	tile := drainTile(r, r.Facts.Recovery)
	assert.Equal(t, []string{none, "limit 5 s; p99 was not back"}, []string{tile.Text, tile.Note})
}

// Regression: a burst that waited before the ingest for 9 s had "Drained 0 s" first.
func TestABurstThatWaitedBeforeTheIngestHasTheTimeUntilItsP99WasBack(t *testing.T) {
	t.Parallel()
	r := golden(t, "spike")
	f := r.Facts.Recovery
	f.PeakBacklog, f.DrainedS, f.BackS = 0, new(0.0), new(9.0)
	tile := drainTile(r, f)
	assert.Equal(t, []string{"p99 back", "9", "s", "limit 5 s; no backlog behind the ingest"},
		[]string{tile.Name, tile.Text, tile.Unit, tile.Note})
	seconds := arrivalSeconds(r)
	seconds[3].InFlight = 4000
	assert.Equal(t, "The burst left no backlog behind the ingest: up to 4,000 messages waited for its answer (0:03)",
		burstTitle(f, seconds))
	f.BackS = nil
	assert.Equal(t, "Drained", drainTile(r, f).Name)
}

// Regression: the page of a sweep had the means of all its steps together, which are those of none.
func TestTheJourneyOfASweepIsThatOfTheKnee(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	Conclude(r, "")
	j := r.Facts.Journey
	assert.Equal(t, "at 4 VUs, the knee", j.Of)
	require.NotNil(t, j.MeanMS)
	knee := runfile.SweepSteps(r.Steps)[1]
	assert.InDelta(t, *knee.Latency.Arrival.Mean, *j.MeanMS, 1e-9)
	assert.Equal(t, knee.Latency.Stages["queue"].Count, j.Stages[3].Count)
	assert.Nil(t, j.SlowMeanMS, "the slowest deliveries are those of all steps")
	passing := golden(t, "passing")
	Conclude(passing, "")
	assert.Empty(t, passing.Facts.Journey.Of)
}

func TestTheAnswerOfASearchBeginsWithItsResult(t *testing.T) {
	t.Parallel()
	r := golden(t, "capacity")
	Conclude(r, "")
	assert.Regexp(t, "^300 requests/s held; 327 requests/s did not, after 8 runs\\. This run held ",
		r.Answer.Sentence)
}
