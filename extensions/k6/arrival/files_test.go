package arrival

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

func TestConnectionsBeyondTheOpenFileLimitAreRefused(t *testing.T) {
	t.Parallel()
	o := &options{Senders: 1000, InFlight: 2}
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
