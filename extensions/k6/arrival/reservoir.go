package arrival

import (
	"math/rand/v2"
	"sync"
)

// reservoirMost is how many latencies of a second a caller gets.
const reservoirMost = 1000

// reservoir keeps a sample of what it sees, each value with the same chance (Vitter's algorithm R).
type reservoir struct {
	mu   sync.Mutex
	seen int
	kept []float64
}

func (r *reservoir) add(v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen++; len(r.kept) < reservoirMost {
		r.kept = append(r.kept, v)
	} else if i := rand.IntN(r.seen); i < reservoirMost {
		r.kept[i] = v
	}
}

// take returns what was kept, and begins anew.
func (r *reservoir) take() []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept
	r.seen, r.kept = 0, nil
	return append([]float64{}, kept...)
}
