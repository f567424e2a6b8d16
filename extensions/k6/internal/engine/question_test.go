package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func TestAQuestionThatTheRunCannotAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for question, says := range map[string]string{
		`{ kind: 'knee' }`:                   `question.kind is "knee"; allowed: recovery, steadiness`,
		`{ kind: 'recovery', factor: 0.5 }`:  `question.factor is 0.5 for "recovery"; allowed: 1 to 1000`,
		`{ kind: 'steadiness', factor: 2 }`:  `question.factor is 2 for "steadiness"`,
		`{ kind: 'steadiness', calls: 2 }`:   `are for "sessions"`,
		`{ kind: 'sessions', perSecond: 1 }`: "perSecond, calls and duration, each above 0",
		`{ kind: 'connections' }`:            "there are no publishers",
		`{ kind: 'exchange' }`:               "its phases must have vus",
		`{ kind: 'recovery', limit: 2 }`:     "limit",
	} {
		_, err := made(t, fmt.Sprintf(`{ profile: %q, ingest: { url: 'http://127.0.0.1:1' },
			mqtt: { url: 'mqtt://127.0.0.1:1' }, question: %s }`, thirty, question))
		assert.ErrorContains(t, err, says, question)
	}
}

func TestTheFactsOfARunAreThoseOfItsQuestion(t *testing.T) {
	t.Parallel()
	const load = "phases: [{duration: 1, arrivalRate: 20}, {name: burst, duration: 1, arrivalRate: 60}, " +
		"{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]"
	s := newScript(t, &fake.Pipeline{}, load, "question: { kind: 'recovery', factor: 7 }")
	r := s.run()
	require.NotNil(t, r.Facts.Recovery)
	assert.Equal(t, "burst", r.Facts.Recovery.Phase)
	assert.InDelta(t, 7, r.Facts.Recovery.BackFactor, 0)
	assert.Equal(t, &runfile.Question{Kind: runfile.Recovering, BackFactor: 7}, r.Facts.Question)
	assert.Nil(t, r.Facts.Drift, "the load does not stay at one rate")
	assert.Nil(t, r.Facts.Connections)
}

func TestTheDriftIsOfTheSecondsThatWereMeasured(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 4, arrivalRate: 120}]\nflows: [{name: direct}]",
		"question: { kind: 'steadiness' }")
	d := s.run().Facts.Drift
	require.NotNil(t, d)
	assert.Equal(t, []float64{1, 2, 3, 4}, []float64{d.From.FromS, d.From.ToS, d.To.FromS, d.To.ToS})
	// On a busy machine all of a second may arrive in the next.
	assert.Positive(t, d.FromSamples+d.ToSamples)
}
