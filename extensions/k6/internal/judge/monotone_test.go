package judge_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The argument of bounds.go, simulated: load generators that are late, before pipelines whose arrivals under a punctual
// one are computed from the same schedule.

const (
	simulated = 2000 // messages
	interval  = 5.0  // ms between two
)

// simulations are pipelines. In monotone ones a message that comes later makes no other one leave earlier; steady ones
// have no clock of their own, so the whole schedule shifted is all departures shifted.
var simulations = []struct {
	name             string
	pipeline         departures
	load             []float64 // mean service times, ms
	monotone, steady bool
}{
	{"infinite servers", infinite, []float64{20, 100}, true, true},
	{"fifo", fifo, []float64{3, 4, 4.7}, true, true},
	{"four servers", servers(4), []float64{12, 18}, true, true},
	{"token bucket", tokens(4.5, 10), []float64{20}, true, true},
	{"fifo with pauses", pausing(1000, 120), []float64{3, 4}, true, false},
	{"batches by a clock", ticking(50), []float64{3, 4}, true, false},
	{"batches that linger", lingering(50), []float64{3, 4}, false, true},
	{"processor sharing", sharing, []float64{3, 4}, false, true},
}

// tardiness makes a generator late: when it sends the messages that are due.
type tardiness func(due []float64, random *rand.Rand) []float64

var tardy = map[string]tardiness{
	"calm": func(due []float64, random *rand.Rand) []float64 {
		return later(due, func(float64) float64 { return 0.2 * random.ExpFloat64() })
	},
	"bursts": func(due []float64, random *rand.Rand) []float64 {
		return later(due, func(at float64) float64 {
			if math.Mod(at, 400) < 100 {
				return 25 * random.ExpFloat64()
			}
			return 0.5 * random.ExpFloat64()
		})
	},
	"freezes": func(due []float64, random *rand.Rand) []float64 {
		begin := 500 + 400*random.Float64()
		return later(due, func(at float64) float64 { return max(0, 300-math.Mod(at+begin, 1200)) })
	},
	"one freeze": func(due []float64, random *rand.Rand) []float64 {
		begin := 8000 * random.Float64()
		return later(due, func(at float64) float64 {
			if at < begin {
				return 0
			}
			return max(0, begin+700-at)
		})
	},
}

// sending is how long it takes to send a message, ms.
const sending = 0.1

// later adds lateness to due times; a generator of one sender sends in order.
func later(due []float64, late func(at float64) float64) []float64 {
	sent, last := make([]float64, len(due)), 0.0
	for i, at := range due {
		last = max(last+sending, at+late(at))
		sent[i] = last
	}
	return sent
}

// overtaken has several senders, of which any may take any of the messages that are sent within a span.
func overtaken(due, sent []float64, random *rand.Rand) []float64 {
	all := slices.Clone(sent)
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to]-all[from] < 10 && due[to] <= all[from] {
			to++
		}
		random.Shuffle(to-from, func(i, j int) { all[from+i], all[from+j] = all[from+j], all[from+i] })
		from = to
	}
	return all
}

// arrive is when each message arrives. The pipeline's service times are those of its turns, whatever message comes.
func arrive(pipeline departures, sent, service []float64) []float64 {
	turns := make([]int, len(sent))
	for i := range turns {
		turns[i] = i
	}
	slices.SortStableFunc(turns, func(a, b int) int { return cmp.Compare(sent[a], sent[b]) })
	came := make([]float64, len(sent))
	for turn, i := range turns {
		came[turn] = sent[i]
	}
	arrived := make([]float64, len(sent))
	for turn, at := range pipeline(came, service) {
		arrived[turns[turn]] = at
	}
	return arrived
}

// lowReading is the arrival latency of each message less the largest lateness in its busy period, which is taken to
// last 2 s at least; times is how often that is taken off.
func lowReading(due, sent, arrived []float64, times float64) []float64 {
	low := make([]float64, len(due))
	done, busy := 0.0, 0.0 // when the busy period's last message so far arrived, and its largest lateness
	for i := range due {
		if due[i] >= done {
			busy = 0
		}
		done, busy = max(done, arrived[i]), max(busy, sent[i]-due[i])
		late := busy
		for k := i; k >= 0 && due[k] > due[i]-2000; k-- {
			late = max(late, sent[k]-due[k])
		}
		low[i] = max(0, arrived[i]-due[i]-times*late)
	}
	return low
}

func less(a, b []float64) []float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] - b[i]
	}
	return all
}

func p99(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]
}

// tally counts what becomes of limits.
type tally struct {
	limits, falseGreens, falseReds, falseRedsFromSend, undecided int
	farGreens                                                    int // limits that a punctual generator misses by far
}

// far is the share of an arrival p99 below which a limit is missed by far.
const far = 0.95

func (t *tally) add(limit, punctual, low, fromDue, fromSend float64) {
	t.limits++
	switch {
	case fromDue < limit && punctual >= limit:
		t.falseGreens++
		if limit < far*punctual {
			t.farGreens++
		}
	case low >= limit && punctual < limit:
		t.falseReds++
	case fromDue >= limit && low < limit:
		t.undecided++
	}
	if fromSend >= limit && punctual < limit {
		t.falseRedsFromSend++
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%4d limits: false greens %d, false reds %d (from send: %d), undecided %d", t.limits, t.falseGreens,
		t.falseReds, t.falseRedsFromSend, t.undecided)
}

// simulation is one load generator before one pipeline.
type simulation struct{ due, sent, punctual, arrived []float64 }

// simulate calls each with runs of a pipeline.
func simulate(load []float64, pipeline departures, overtakes bool, each func(how string, s simulation)) {
	for seed := range uint64(3) {
		for _, mean := range load {
			for how, late := range tardy {
				random := rand.New(rand.NewPCG(seed, 1))
				s := simulation{due: make([]float64, simulated)}
				service := make([]float64, simulated)
				for i := range s.due {
					s.due[i] = float64(i) * interval
					service[i] = mean * (0.5 + random.Float64())
					if i%100 == 50 {
						service[i] *= 1 + 3*random.Float64()
					}
				}
				s.sent = late(s.due, random)
				if overtakes {
					s.sent = overtaken(s.due, s.sent, random)
				}
				s.punctual = arrive(pipeline, s.due, service)
				s.arrived = arrive(pipeline, s.sent, service)
				each(how, s)
			}
		}
	}
}

// shares of the arrival p99 of a punctual generator are the limits.
var shares = []float64{0.5, 0.9, 0.99, 1.001, 1.01, 1.1, 2, 4}

func (s simulation) count(t *tally, times float64) {
	punctual, fromDue := p99(less(s.punctual, s.due)), p99(less(s.arrived, s.due))
	low, fromSend := p99(lowReading(s.due, s.sent, s.arrived, times)), p99(less(s.arrived, s.sent))
	for _, share := range shares {
		t.add(share*punctual, punctual, low, fromDue, fromSend)
	}
}

func TestALateGeneratorsMessagesArriveNoEarlier(t *testing.T) {
	t.Parallel()
	for _, one := range simulations {
		if !one.monotone {
			continue
		}
		simulate(one.load, one.pipeline, false, func(how string, s simulation) {
			for i, at := range s.arrived {
				if at < s.punctual[i]-1e-6 {
					assert.Fail(t, "a message arrived earlier", "%s, %s: message %d at %g ms", one.name, how, i, at)
					return
				}
			}
		})
	}
}

// Batches that linger are not monotone: a message that comes later may share a batch with the next one. Their p99 is
// hardly better for it.
func TestLimitsAreDecidedAsAPunctualGeneratorWould(t *testing.T) {
	t.Parallel()
	for _, one := range simulations {
		var all tally
		simulate(one.load, one.pipeline, false, func(_ string, s simulation) { s.count(&all, 1) })
		t.Logf("%-18s %s", one.name, &all)
		assert.Zero(t, all.farGreens, one.name)
		if one.monotone {
			assert.Zero(t, all.falseGreens, one.name)
		}
		if one.monotone && one.steady {
			assert.Zero(t, all.falseReds, one.name)
		}
	}
}

// When several messages are late together, the first one due may be sent last. It then waits for all others, so the
// largest lateness no longer bounds its arrival. Twice the largest lateness does: only messages that were due before it
// was sent overtake it.
func TestSendersThatOvertakeEachOtherDoubleTheDoubt(t *testing.T) {
	t.Parallel()
	for _, one := range simulations {
		var once, twice tally
		simulate(one.load, one.pipeline, true, func(_ string, s simulation) {
			s.count(&once, 1)
			s.count(&twice, 2)
		})
		t.Logf("%-18s once:  %s", one.name, &once)
		t.Logf("%-18s twice: %s", one.name, &twice)
		assert.Zero(t, twice.farGreens, one.name)
		if one.monotone {
			assert.Zero(t, twice.falseGreens, one.name)
		}
		if one.monotone && one.steady {
			assert.Zero(t, twice.falseReds, one.name)
		}
		if one.name == "fifo" {
			assert.NotZero(t, once.falseReds)
		}
	}
}
