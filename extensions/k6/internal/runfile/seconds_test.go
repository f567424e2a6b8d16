package runfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// burst accepts 30 deliveries in its first second, 10 in its second, and none after it. They arrive in three seconds.
// Four messages are still not answered at the end of the first, and one is at the end of the last.
func burst() []Interval {
	return []Interval{
		{T: 0, Sent: 34, Accepted: 30, Arrived: 12, Backlog: 18},
		{T: 1, Sent: 10, Accepted: 10, Rejected: 2, Failed: 1, Arrived: 20, Backlog: 8},
		{T: 2, Arrived: 8},
	}
}

func dues(timeline []Interval) (all []int64) {
	for _, s := range timeline {
		all = append(all, s.Due)
	}
	return all
}

func inFlight(timeline []Interval) (all []int) {
	for _, s := range timeline {
		all = append(all, s.InFlight)
	}
	return all
}

func TestDeliveriesAreDueInTheSecondInWhichTheirMessagesWereAccepted(t *testing.T) {
	t.Parallel()
	timeline := burst()
	Follow(timeline)
	assert.Equal(t, []int64{30, 10, 0}, dues(timeline))
}

func TestMessagesAreInFlightUntilTheirAnswer(t *testing.T) {
	t.Parallel()
	timeline := burst()
	Follow(timeline)
	assert.Equal(t, []int{4, 1, 1}, inFlight(timeline))
}

func TestInFlightIsNeverBelowZero(t *testing.T) {
	t.Parallel()
	timeline := []Interval{{Accepted: 2}, {Sent: 3}}
	Follow(timeline)
	assert.Equal(t, []int{0, 1}, inFlight(timeline), "the answers of the first second count in the next")
}

func TestAReadTimelineIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var lines []byte
	for _, s := range burst() {
		line, err := json.Marshal(s)
		require.NoError(t, err)
		lines = append(append(lines, line...), '\n')
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, TimelineName), lines, 0o600))
	timeline, err := ReadTimeline(dir)
	require.NoError(t, err)
	assert.Equal(t, []int64{30, 10, 0}, dues(timeline))
	assert.Equal(t, []int{4, 1, 1}, inFlight(timeline))
}

// The backlog of a merged run falls when one of its instances is cut off. Nothing was due less for it.
func TestWhatARunSaysIsDueStands(t *testing.T) {
	t.Parallel()
	timeline := burst()
	Follow(timeline)
	timeline[2].Due = 5
	data, err := json.Marshal(Run{Timeline: timeline})
	require.NoError(t, err)
	r, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, []int64{30, 10, 5}, dues(r.Timeline))
}

// The golden runs are simulated, and count what was accepted and answered in each second.
func TestTheSecondsOfTheGoldensAreThoseThatFollowMakes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"passing", "failing", "refusing", "incomplete", "spike", "closed", "real"} {
		r, err := Read(reports + "testdata/" + name + ".json")
		require.NoError(t, err)
		again := slices.Clone(r.Timeline)
		Follow(again)
		assert.Equal(t, r.Timeline, again, name)
	}
}
