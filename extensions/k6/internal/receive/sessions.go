package receive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Session is a connection of a Receiver, which it restores after a loss.
type Session interface {
	// Listen hands on what arrives, until the connection ends. It returns net.ErrClosed after Close.
	Listen(taker *Taker) error
	// Retry restores the connection, and retries until patience has passed.
	Retry(ctx context.Context, patience time.Duration) error
	Close()
}

// Sessions are the open sessions of a Receiver. Messages that a server did not keep while a session was lost are
// missing from the account, so it records the gap.
type Sessions struct {
	parts    *run.Parts
	patience time.Duration
	endings  Endings
	sessions []Session
	failed   chan error
	stop     context.CancelFunc
	read     sync.WaitGroup

	mu   sync.Mutex
	gaps []runfile.Gap
}

// Endings say what a kind of session knows about the end of a connection.
type Endings struct {
	Final    func(error) bool // whether an error ends a session for good
	Question string           // what to ask where connections end again and again
}

// Hold begins to read sessions, each of which has connected. taker returns the Taker of session i.
func Hold(ctx context.Context, parts *run.Parts, patience time.Duration, sessions []Session, taker func(i int) *Taker,
	endings Endings) *Sessions {
	h := &Sessions{parts: parts, patience: patience, endings: endings, sessions: sessions,
		failed: make(chan error, len(sessions))}
	ctx, h.stop = context.WithCancel(ctx)
	for i, s := range sessions {
		h.read.Go(func() { h.hold(ctx, i, s, taker(i)) })
	}
	return h
}

// A session is given up after this many consecutive connections shorter than shortLived.
const (
	shortLived = time.Second
	shortMost  = 5
)

// hold reads session i, and restores it after a loss.
func (h *Sessions) hold(ctx context.Context, i int, s Session, taker *Taker) {
	short := 0 // consecutive connections that did not last
	for {
		since := time.Now()
		err := s.Listen(taker)
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if short++; time.Since(since) > shortLived {
			short = 0
		}
		gap := h.openGap(i, err)
		h.parts.Count("delivery", runfile.LostClass, words.Printable(err.Error()))
		if short == shortMost {
			err = fmt.Errorf("%w (%d connections in a row did not last %s; %s)", err, short, shortLived,
				h.endings.Question)
		}
		if h.endings.Final(err) || short == shortMost {
			h.failed <- fmt.Errorf("subscriber %d: %w", i+1, err)
			return
		}
		if err := s.Retry(ctx, h.patience); err != nil {
			h.failed <- fmt.Errorf("subscriber %d did not come back: %w", i+1, err)
			return
		}
		h.closeGap(gap)
	}
}

// Failed implements Receiver.
func (h *Sessions) Failed() <-chan error { return h.failed }

// Close ends all sessions. It may be called more than once.
func (h *Sessions) Close() {
	h.stop()
	for _, s := range h.sessions {
		s.Close()
	}
	h.read.Wait()
}

// openGap records that a session has lost its connection.
func (h *Sessions) openGap(i int, err error) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gaps = append(h.gaps, runfile.Gap{Subscriber: i + 1, FromS: h.parts.Elapsed().Seconds(), Reason: err.Error()})
	return len(h.gaps) - 1
}

func (h *Sessions) closeGap(gap int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gaps[gap].ToS = new(h.parts.Elapsed().Seconds())
}

// Silent records a gap of session i, which last heard of its server at a moment, unless one is open.
func (h *Sessions) Silent(i int, last time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.gaps, func(g runfile.Gap) bool { return g.Subscriber == i+1 && g.ToS == nil }) {
		return
	}
	from := max(0, h.parts.Elapsed()-time.Since(last)).Seconds()
	h.gaps = append(h.gaps, runfile.Gap{Subscriber: i + 1, FromS: from, Reason: err.Error()})
}

// Gaps implements Receiver.
func (h *Sessions) Gaps() []runfile.Gap {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]runfile.Gap{}, h.gaps...)
}
