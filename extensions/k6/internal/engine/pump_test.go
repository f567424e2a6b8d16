package engine

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

func TestAPumpEndsWithItsVU(t *testing.T) {
	t.Parallel()
	url, _ := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 3600, arrivalRate: 50}]\nflows: [{name: direct}]",
		at(url, ""))
	e := s.engine
	e.Epoch = time.Now()
	e.Start()
	go e.sending.open.Tend(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Pump(ctx, s.state)
	}()
	require.Eventually(t, func() bool { return e.sending.open.Drawn() > 2 }, time.Minute, time.Millisecond)
	stop()
	<-ended
}
