package spans

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// generator is the host of moments that the run itself notes.
const generator = 0

// moment is a time in µs on the clock of a host.
type moment struct {
	host int
	us   int64
}

// hosts bounds the offsets of the hosts' clocks by what is impossible: a moment can not be before one that leads to it.
// So two moments of different hosts bound the difference of their clocks on one side, and all together leave an
// interval.
type hosts struct {
	names  []string
	same   []bool    // it has the generator's clock
	known  []bool    // its clock is known by Redis' too
	whole  []bool    // all its spans begin at whole ms: so its times are cut off, like Node's Date.now()
	starts []int     // spans
	least  [][]int64 // [a][b]: the clock of b is ahead of a's by at most this, µs
}

func newHosts(names []string) *hosts {
	n := len(names)
	h := &hosts{names: names, same: make([]bool, n), known: make([]bool, n), whole: make([]bool, n),
		starts: make([]int, n)}
	for range names {
		row := make([]int64, len(names))
		for i := range row {
			row[i] = math.MaxInt64
		}
		h.least = append(h.least, row)
	}
	for i := range names {
		h.least[i][i] = 0
	}
	return h
}

// cutMS is the resolution of a host whose times are cut off.
const cutMS = 1000

// before notes that a led to b.
func (h *hosts) before(a, b moment) {
	if a.host == b.host {
		return
	}
	at := b.us
	if h.whole[b.host] {
		at += cutMS // it may have been as late
	}
	h.least[a.host][b.host] = min(h.least[a.host][b.host], at-a.us)
}

// know notes a host's offset and its bound, µs, as Redis' clock shows them.
func (h *hosts) know(host int, offset, bound int64) {
	h.known[host] = true
	h.least[generator][host] = min(h.least[generator][host], offset+bound)
	h.least[host][generator] = min(h.least[host][generator], bound-offset)
}

// clock is the offset of a host's clock (its own minus the generator's) and its bound, µs.
type clock struct {
	offset, bound int64
	basis         string
}

// solve finds the offset of each host: the shortest ways in the graph of differences (Floyd and Warshall).
func (h *hosts) solve() []clock {
	for i, same := range h.same {
		if same {
			h.least[generator][i], h.least[i][generator] = 0, 0
		}
	}
	add := func(a, b int64) int64 {
		if a == math.MaxInt64 || b == math.MaxInt64 {
			return math.MaxInt64
		}
		return a + b
	}
	for via := range h.names {
		for a := range h.names {
			for b := range h.names {
				h.least[a][b] = min(h.least[a][b], add(h.least[a][via], h.least[via][b]))
			}
		}
	}
	clocks := make([]clock, len(h.names))
	for i := range h.names {
		high, low := h.least[generator][i], h.least[i][generator]
		c := clock{basis: runfile.ByTraces}
		if h.known[i] {
			c.basis = runfile.ByRedis
		}
		switch {
		case h.same[i]:
			c.basis = runfile.SameHost
		case high == math.MaxInt64 || low == math.MaxInt64: // no message has a mark there
			c.basis = ""
		case -low > high:
			c.offset, c.bound, c.basis = (high-low)/2, (-low-high+1)/2, runfile.Disagree
		case -low <= 0 && high >= 0: // it may be the generator's own clock
			c.bound = max(low, high)
		default:
			c.offset, c.bound = (high-low)/2, (high+low+1)/2
		}
		if h.whole[i] { // on average its times are half a ms too early
			c.offset -= cutMS / 2
			c.bound += cutMS / 2
		}
		clocks[i] = c
	}
	return clocks
}

// apart is how much the clocks of two hosts may differ, µs.
func (h *hosts) apart(clocks []clock, a, b int) int64 {
	switch {
	case a != b:
		return clocks[a].bound + clocks[b].bound
	case h.whole[a]:
		return cutMS
	}
	return 0
}
