package receive

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// short is a session whose connections end at once.
type short struct{}

func (short) Listen(*Taker) error                        { return errors.New("ended") }
func (short) Retry(context.Context, time.Duration) error { return nil }
func (short) Close()                                     {}

// Regression: a client of server-sent events has no id, and was asked whether another one uses it.
func TestConnectionsThatDoNotLastAreAskedForTheirOwnCause(t *testing.T) {
	t.Parallel()
	plan, err := profile.Parse("p", "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: direct}]")
	require.NoError(t, err)
	parts := &run.Parts{Course: schedule.New(pacer.New(plan)), Notes: unnoted{}}
	h := Hold(t.Context(), parts, time.Minute, []Session{short{}}, func(int) *Taker { return nil },
		Endings{Final: func(error) bool { return false }, Question: "is it raining?"})
	t.Cleanup(h.Close)
	err = <-h.Failed()
	require.ErrorContains(t, err, "5 connections in a row did not last")
	assert.ErrorContains(t, err, "is it raining?")
	assert.NotContains(t, err.Error(), "its id")
}
