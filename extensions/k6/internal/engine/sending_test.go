package engine

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// pausing is an ingest that stands still until this many requests wait for it.
func pausing(t *testing.T, most int64) (url string) {
	t.Helper()
	var waiting atomic.Int64
	full := make(chan struct{})
	url, _ = ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		if waiting.Add(1) == most {
			close(full)
		}
		select {
		case <-full:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return url
}

// Regression: what fell due while the ingest stood still waited for a sender. That was the generator's lateness, so the
// run was invalid instead of failed, exactly under overload.
func TestSendersGrowWhileAllWaitForAnswers(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*script) *runfile.Run{"send": (*script).run, "pump": (*script).pumped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 200}]\nflows: [{name: direct}]",
				"senders: 16, "+at(pausing(t, 150), ""))
			r := run(s)
			assert.Equal(t, ledger.Requests{Scheduled: 200, Sent: 200}, r.Account.Requests)
		})
	}
}

func TestSendersGrowUpToTheirLimit(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct}]",
		"senders: 16, maxSenders: 20, timeout: '1s', "+at(pausing(t, 21), ""))
	r := s.run()
	assert.Positive(t, r.Account.Requests.Failed, "the 21st would have ended the pause")
}
