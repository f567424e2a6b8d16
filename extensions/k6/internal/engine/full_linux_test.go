package engine

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Regression: the run continued to its end and left the page of its first second.
func TestAFullDiskEndsTheRunAtOnceAndLeavesNoPage(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 600, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	timeline := filepath.Join(s.dir, "timeline.ndjson")
	f.Copies = func(nth int) int {
		if nth == 1 {
			fill(t, timeline)
		}
		return 1
	}
	e := s.engine
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for vu := NewSender(e, s.state); vu.Send(ctx); {
		}
	}()
	err := e.collect(ctx, s.state, s.metrics)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, timeline)
	assert.NotContains(t, err.Error(), "\n")
	assert.NoFileExists(t, filepath.Join(s.dir, "index.html"))
	e.dir.at = "/dev/full"
	assert.Regexp(t, `report +none: .*/dev/full`, s.summary())
}

// fill replaces path's open file descriptor with one of /dev/full: writes then fail with ENOSPC.
func fill(t *testing.T, path string) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if !assert.NoError(t, err) {
		return
	}
	defer full.Close()
	open, err := os.ReadDir("/proc/self/fd")
	assert.NoError(t, err)
	for _, entry := range open {
		if target, _ := os.Readlink("/proc/self/fd/" + entry.Name()); target == path {
			var fd int
			for _, digit := range entry.Name() {
				fd = 10*fd + int(digit-'0')
			}
			assert.NoError(t, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
		}
	}
}
