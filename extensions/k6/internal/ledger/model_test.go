package ledger

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

var seed = flag.Uint64("seed", 0, "seed of the random operations; 0: random")

// traffic holds the shares of outcomes, 0 to 1.
type traffic struct{ lost, rejected, unknown, dropped, late float64 }

// Random operations and compactions give the same accounts in the ledger and in a naive one.
func TestTheLedgerAgreesWithANaiveOne(t *testing.T) {
	t.Parallel()
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	traffics := map[string]traffic{
		"clean":         {},
		"few lost":      {lost: 0.001, rejected: 0.01, late: 0.001},
		"many rejected": {lost: 0.02, rejected: 0.7, unknown: 0.05, late: 0.3},
		"many lost":     {lost: 0.3, rejected: 0.05, unknown: 0.1, late: 0.1},
		"dropped":       {lost: 0.01, rejected: 0.1, dropped: 0.8, late: 0.1},
	}
	for name, traffic := range traffics {
		for model, phase := range map[string]profile.Phase{
			"open": {Rate: 4500, RampTo: 4500}, "closed": {VUs: 10}, "closed, by flow": {VUs: 10},
		} {
			t.Run(model+", "+name, func(t *testing.T) {
				t.Parallel()
				t.Logf("-seed %d", from)
				compare(t, rand.New(rand.NewPCG(from, 0)), traffic, phase, strings.HasSuffix(model, "by flow"))
			})
		}
	}
}

// compare runs three phases like the one given until every delivery is in.
func compare(t *testing.T, random *rand.Rand, traffic traffic, phase profile.Phase, byFlow bool) {
	const requests = 3 * 4500
	p := &profile.Profile{Flows: []profile.Flow{
		{Name: "direct", Weight: 7, Target: "user", Targets: 7, Messages: 1, Deliveries: 1},
		{Name: "room", Weight: 2, Target: "room", Targets: 3, Messages: 1, Deliveries: 5},
		{Name: "batch", Weight: 1, Target: "user", Targets: 7, Messages: 10, Deliveries: 1},
	}}
	for i := range 3 {
		phase.Name, phase.Duration, phase.Measured = fmt.Sprint(i), time.Second, i != 1
		p.Phases = append(p.Phases, phase)
	}
	m := newNaive(t, p, byFlow)
	g := &generator{naive: m, random: random, traffic: traffic, now: epoch}
	folded, refolded := map[*page]int{}, 0 // records of a page at its first fold; pages that were folded again
	for step := 0; m.requests < requests || len(g.due) > 0 || len(g.unanswered) > 0; step++ {
		g.step(requests)
		if g.chance(0.001) {
			m.cut()
			for _, pg := range m.pages {
				if pg == nil || pg.young != nil || pg == arrivedInFull {
					continue
				}
				if records, ok := folded[pg]; !ok {
					folded[pg] = len(pg.open)
				} else if len(pg.open) < records {
					refolded++
				}
			}
		}
		if step%10_000 == 0 {
			m.check()
		}
	}
	m.cut()
	m.check()

	require.Equal(t, !m.closed, m.Settled())
	m.End()
	require.True(t, m.Settled())

	// The run reached the ledger's difficult states.
	switch {
	case traffic.lost == 0:
		assert.Same(t, arrivedInFull, m.pages[0])
	case traffic.dropped == 0:
		assert.NotEmpty(t, folded)
		assert.True(t, refolded > 0 || byFlow, "by flow there are fewer full pages")
	}
	if traffic.rejected > 0.5 {
		assert.Equal(t, m.closed, m.Final().Unmeasured > 0, "messages arrived whose send time was Forgotten")
	}
}

// generator chooses the operations.
type generator struct {
	*naive
	random     *rand.Rand
	traffic    traffic
	now        int64
	unanswered []pacer.Slot
	due        []delivery
	taken      [3]int // by flow
}

// delivery is a delivery to make.
type delivery struct{ subscriber, seq int }

func (g *generator) chance(p float64) bool { return g.random.Float64() < p }

func (g *generator) step(requests int) {
	g.now += int64(g.random.IntN(100))
	switch {
	case g.requests < requests && len(g.unanswered) < 30 && g.chance(0.4):
		s := g.pacer.Slot(g.requests)
		if g.byFlow {
			flow := max(0, g.random.IntN(20)-17) // mostly flow 0
			s = g.pacer.Slot(g.pacer.Turn(flow, g.taken[flow]))
			g.taken[flow]++
		}
		if g.closed {
			s.Phase = g.requests * len(g.phases) / requests
		}
		g.send(s)
	case len(g.unanswered) > 0 && g.chance(0.3):
		g.answer()
	case len(g.due) > 0 && g.chance(0.9):
		g.deliver()
	case g.requests > 0 && g.chance(g.traffic.late): // late, duplicate or foreign
		seq, subscriber := g.someSeq(), 0
		if msg := g.messages[seq]; msg != nil {
			subscriber = g.random.IntN(msg.deliveries)
		}
		g.arrive(subscriber, seq, g.now)
	case g.requests > 0 && g.chance(g.traffic.late/10):
		g.find(g.someSeq(), Queued+Fate(g.random.IntN(2)))
	}
}

// someSeq returns the number of a taken message, or one slightly out of range.
func (g *generator) someSeq() int {
	if g.byFlow && !g.chance(0.1) {
		flow := g.random.IntN(len(g.taken))
		return g.pacer.Slot(g.pacer.Turn(flow, g.random.IntN(g.taken[flow]+1))).FirstSeq
	}
	return g.random.IntN(g.pacer.Messages(g.requests)+8) - 4
}

func (g *generator) send(s pacer.Slot) {
	g.now = max(g.now, epoch+s.Due.Microseconds())
	drop := g.chance(g.traffic.dropped)
	g.take(s, g.now, drop)
	if drop {
		return
	}
	g.unanswered = append(g.unanswered, s)
	for seq := s.FirstSeq; seq < s.FirstSeq+s.Messages; seq++ {
		for subscriber := range g.messages[seq].deliveries {
			if !g.chance(g.traffic.lost) {
				g.due = append(g.due, delivery{subscriber, seq})
			}
		}
	}
}

func (g *generator) answer() {
	i, last := g.random.IntN(len(g.unanswered)), len(g.unanswered)-1
	s := g.unanswered[i]
	g.unanswered[i] = g.unanswered[last]
	g.unanswered = g.unanswered[:last]
	if g.chance(g.traffic.unknown) {
		g.retry()
	}
	switch {
	case g.chance(g.traffic.rejected):
		g.settle(s, Rejected)
	case g.chance(g.traffic.unknown):
		g.settle(s, Unknown)
	default:
		g.settle(s, Accepted)
	}
}

// deliver makes one of the next deliveries. Few rejected messages arrive.
func (g *generator) deliver() {
	i := g.random.IntN(min(len(g.due), 200))
	d := g.due[i]
	g.due[i] = g.due[0]
	g.due = g.due[1:]
	if g.messages[d.seq].outcome != Rejected || g.chance(g.traffic.late) {
		g.arrive(d.subscriber, d.seq, g.now)
	}
}
