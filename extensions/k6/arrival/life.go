package arrival

import (
	"sync"
	"time"
)

// life is how far a run has come, and where it is written.
type life struct {
	mu       sync.Mutex
	begun    bool      // collect has begun; there is one
	ended    time.Time // or stopped; zero: it goes on
	finished bool      // collect came to its end
	dir      string    // empty: there is none
}

// begin reports whether the run has not begun yet. It has then.
func (l *life) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.begun
	l.begun = true
	return first
}

func (l *life) end(finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.finished = time.Now(), finished
}

// now is when the run ended, zero if it goes on, and whether it came to its end.
func (l *life) now() (ended time.Time, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended, l.finished
}

func (l *life) moveTo(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dir = dir
}

// place is the directory of the run.
func (l *life) place() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dir
}
