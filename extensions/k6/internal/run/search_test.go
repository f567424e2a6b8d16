package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// toy is a queue in memory: another kind of queue needs no more than this.
type toy struct {
	places []run.Place
	err    error
}

func (toy) Server() string                                { return "the toy" }
func (t toy) Places(context.Context) ([]run.Place, error) { return t.places, t.err }
func holds(fate ledger.Fate, bodies ...string) run.Place {
	return run.Place{Name: fmt.Sprint(fate), Fate: fate, Read: func(_ context.Context, body func(string)) error {
		for _, each := range bodies {
			body(each)
		}
		return nil
	}}
}

// doubting keeps what a run distrusts.
type doubting []string

func (d *doubting) Count(_, _, _ string) {}

func (d *doubting) Distrust(format string, args ...any) {
	*d = append(*d, fmt.Sprintf(format, args...))
}

// sent is a run whose five messages were accepted, and what it distrusts.
func sent(t *testing.T) (r *run.Parts, doubts *doubting) {
	t.Helper()
	plan, err := profile.Parse("p", "{phases: [{duration: 1, arrivalRate: 5}], flows: [{name: direct}]}")
	require.NoError(t, err)
	requests := pacer.New(plan)
	doubts = &doubting{}
	r = &run.Parts{
		Profile: plan, Course: schedule.New(requests),
		Bodies: body.New(body.Format{ID: "id"}, plan.Flows, requests, "run.1.", false),
		Notes:  doubts,
	}
	r.Ledger = ledger.New(plan, requests)
	r.Ledger.Start(r.Clock.Now())
	for seq := range 5 {
		slot := requests.Slot(seq)
		r.Ledger.Sent(slot, r.Clock.Now())
		r.Ledger.Settle(slot, ledger.Accepted)
	}
	return r, doubts
}

func TestMissingMessagesAreFoundInAnyQueue(t *testing.T) {
	t.Parallel()
	r, doubts := sent(t)
	of := func(seq int) string { return `{"id":"` + r.Bodies.ID(seq) + `"}` }
	search := toy{places: []run.Place{
		holds(ledger.Queued, of(0), `{"id":"other.1.1"}`, "no JSON"), holds(ledger.Queued, of(1)),
		holds(ledger.DeadLettered, of(2), of(1)), // moved meanwhile
	}}
	r.Find(t.Context(), search)
	account := r.Ledger.Final()
	assert.Equal(t, []int{1, 2, 2, 0}, []int{account.Queued, account.DeadLettered, account.Lost, account.Unknown})
	assert.Empty(t, *doubts)
}

func TestWhatCouldNotBeSoughtIsUnknown(t *testing.T) {
	t.Parallel()
	noAnswer := func(context.Context, func(string)) error { return errors.New("no answer") }
	silent := run.Place{Name: "the second half", Read: noAnswer}
	for name, search := range map[string]toy{
		"a place that cannot be read": {places: []run.Place{silent}},
		"places that are not known":   {err: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, doubts := sent(t)
			search.places = append(search.places, holds(ledger.Queued, `{"id":"`+r.Bodies.ID(0)+`"}`))
			r.Find(t.Context(), search)
			account := r.Ledger.Final()
			assert.Equal(t, []int{1, 0, 4}, []int{account.Queued, account.Lost, account.Unknown})
			require.Len(t, *doubts, 1)
			assert.Contains(t, (*doubts)[0], "the toy could not be asked")
			assert.Contains(t, (*doubts)[0], "no answer")
		})
	}
}
