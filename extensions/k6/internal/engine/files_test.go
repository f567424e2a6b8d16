package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

func TestConnectionsBeyondTheOpenFileLimitAreRefused(t *testing.T) {
	t.Parallel()
	o := &Options{Senders: 1000, InFlight: 2}
	var err error
	o.profile, err = profile.Parse("p", "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: room, deliveries: 5}]")
	require.NoError(t, err)
	assert.NoError(t, o.checkFiles(segment.Whole(), 2069))
	assert.EqualError(t, o.checkFiles(segment.Whole(), 2068),
		"2000 senders and 5 subscribers need 2069 open files, and this process may have 2068: ulimit -n 2069, or fewer of them")
	assert.Positive(t, openFiles())
	assert.NoError(t, o.checkFiles(segment.Whole(), openFiles()))

	o.Publishers = &send.PublisherOptions{Connections: 15_000}
	assert.NoError(t, o.checkFiles(segment.Whole(), 15_069))
	assert.ErrorContains(t, o.checkFiles(segment.Whole(), 15_068),
		"15000 publishers and 5 subscribers need 15069 open files, and this process may have 15068")

	o.Publishers, o.Senders, o.InFlight, o.SenderConnections = nil, 1000, 1, 2
	assert.EqualError(t, o.checkFiles(segment.Whole(), 1500),
		"1000 senders with 2 connections each and 5 subscribers need 2069 open files, and this process may have 1500: ulimit -n 2069, or fewer of them")
	o.Publishers, o.SenderConnections = &send.PublisherOptions{Connections: 15_000}, 0

	third := segmentOf(t, "0:1/3", "0,1/3,2/3,1")
	assert.NoError(t, o.checkFiles(third, 5069), "an instance needs files for its share only")
}

func TestSendersGrowToWhatTheLoadNeeds(t *testing.T) {
	t.Parallel()
	const files = 100_000
	of := func(load string, change func(o *Options)) *Options {
		o := defaults()
		var err error
		o.profile, err = profile.Parse("p", "phases: ["+load+"]\nflows: [{name: direct}]")
		require.NoError(t, err)
		change(&o)
		o.limitSenders()
		return &o
	}
	none := func(*Options) {}
	slow, fast := "{duration: 1, arrivalRate: 1}", "{duration: 1, arrivalRate: 10, rampTo: 200}"
	assert.Equal(t, 64, of(slow, none).mostSenders(files), "as many as there are at the beginning")
	assert.Equal(t, 2000, of(fast, none).mostSenders(files), "the rate, for as long as a request may take")
	assert.Equal(t, 400, of(fast, func(o *Options) { o.Timeout = seconds(2 * time.Second) }).mostSenders(files))
	assert.Equal(t, 935, of(fast, none).mostSenders(1000), "the open files leave so many")
	assert.Equal(t, sendersUsual, of("{duration: 1, arrivalRate: 1e6}", none).mostSenders(files))
	limited := of(fast, func(o *Options) { o.MaxSenders, o.InFlight = 30, 8 })
	assert.Equal(t, 30, limited.mostSenders(files))
	assert.Equal(t, 3, limited.Senders, "24 may be under way before they grow")
	assert.Equal(t, 8, of("{duration: 1, vus: 8}", func(o *Options) { o.Senders = 8 }).mostSenders(files))
}
