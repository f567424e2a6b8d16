package record

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// turns sends all requests of the closed model, up to outstanding at a time, and returns the number
// of requests in each phase.
func (c *caller) turns(outstanding int, flow func(nth int) string) map[string]int {
	c.t.Helper()
	got, asked := map[string]int{}, 0
	ask := func() {
		c.write(`{"next": 1, "id": %d%s}`, asked, flow(asked))
		asked++
	}
	for range outstanding {
		ask()
	}
	var sending sync.WaitGroup
	for over := 0; over < outstanding; {
		l := c.expect(func(l answerLine) bool { return l.Slots != nil })
		assert.NotNil(c.t, l.ID)
		if len(*l.Slots) == 0 {
			over++
			continue
		}
		got[(*l.Slots)[0].Phase]++
		sending.Go(func() { c.send((*l.Slots)[0]) })
		ask()
	}
	sending.Wait()
	return got
}

func TestARecorderRunsTheClosedModel(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	c := record(t, f, `
phases: [{name: two, duration: 60, vus: 2, requests: 20}, {pause: 1}, {name: four, duration: 60, vus: 4, requests: 40, drain: 10}]
flows: [{name: direct, weight: 3}, {name: room, target: room, deliveries: 2}]`, "")
	c.started()
	assert.Equal(t, map[string]int{"two": 20, "four": 40}, c.turns(6, func(int) string { return "" }))
	r, _, _ := c.end()
	result, reasons, _ := test.Verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, runfile.Closed, r.Run.Model)
	assert.Equal(t, 60, r.Account.Arrived)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, []int{2, 4}, []int{*r.Steps[0].VUs, *r.Steps[2].VUs})
}

// A phase never has more requests in flight than VUs, however many the caller asks for.
func TestInFlightRequestsNeverExceedTheVUs(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 60, vus: 2, requests: 5}]\nflows: [{name: one}, {name: two}]",
		"")
	c.started()
	flows := []string{"two", "one", "two", "two", "one"}
	for i, flow := range append(flows, "one") {
		c.write(`{"next": 1, "flow": %q, "id": "%d"}`, flow, i)
	}
	slot := func(want int) slotLine {
		l := c.expect(func(l answerLine) bool { return l.Slots != nil })
		require.Equal(t, fmt.Sprint(want), l.ID, "slots come in the order of the next lines")
		require.Len(t, *l.Slots, 1)
		assert.Equal(t, flows[want], (*l.Slots)[0].Flow)
		return (*l.Slots)[0]
	}
	first, second := slot(0), slot(1)
	for want := 2; want < 5; want++ {
		assert.Equal(t, 2, c.recording.desk.inFlight())
		c.send(first)
		first, second = second, slot(want)
	}
	c.send(first)
	c.send(second)
	assert.Empty(t, *c.expect(func(l answerLine) bool { return l.Slots != nil }).Slots)
	r, _, _ := c.end()
	assert.Equal(t, 5, r.Account.Arrived)
}

func TestTheCallerCanEndTheClosedModel(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{name: long, duration: 60, vus: 3}]\nflows: [{name: one}]", "")
	c.started()
	c.send(c.slots(`{"next": 1}`)[0])
	unsent := c.slots(`{"next": 1}`)
	require.Len(t, unsent, 1)
	r, _, _ := c.end()
	assert.Equal(t, [3]int{2, 1, 1}, [3]int{r.Account.Scheduled, r.Account.Arrived, r.Account.Dropped})
	assert.NotNil(t, r.Run.Ended)
	assert.Less(t, r.Steps[0].DurationS, 60.0)
}

func TestATimedOutClosedRequestFreesItsVU(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 60, vus: 1, requests: 2}]\nflows: [{name: one}]",
		`, "timeout": "1ms", "idle": "2s"`)
	c.started()
	lost := c.slots(`{"next": 1}`)[0]
	c.write(`{"sent": %d, "at_us": %d}`, lost.N, c.clock.us(time.Now()))
	c.send(c.slots(`{"next": 1}`)[0])
	c.write(`{"settled": %d, "at_us": %d, "status": 202}`, lost.N, c.clock.us(time.Now()))
	r, _, _ := c.end()
	assert.Equal(t, [3]int{2, 1, 1}, [3]int{r.Account.Scheduled, r.Account.Arrived, r.Account.Unknown})
	assert.Contains(t, r.Errors, runfile.ErrorClass{Stage: "request", Class: "not settled", Count: 1,
		Example: "not settled within 1.001s"})
}
