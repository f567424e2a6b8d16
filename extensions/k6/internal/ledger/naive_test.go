package ledger

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// naive is a simple reference ledger: one map, scanned for each question.
type naive struct {
	run
	closed    bool
	byFlow    bool
	messages  map[int]*message
	phases    []PhaseCount
	scheduled []int
	lastSeen  map[string]int
	late      map[string]int // reordered deliveries by target

	requests, dropped, inFlight, retried, duplicates, reordered, foreign, deliveries int
	latency                                                                          int // µs over all deliveries
	failed                                                                           int
	// deliveries of rejected messages
	ofRejected int
}

type message struct {
	slot       pacer.Slot
	sent       int64
	outcome    Outcome
	fate       Fate
	got        map[int]bool
	deliveries int
}

func (m *message) arrived() bool { return len(m.got) == m.deliveries }

// refused reports whether the message was rejected and then seen nowhere.
func (m *message) refused() bool { return m.outcome == Rejected && len(m.got) == 0 && m.fate == Lost }

func (m *message) open() bool {
	return !m.arrived() && !m.refused() && m.outcome != inFlight && m.outcome != dropped
}

func newNaive(t *testing.T, p *profile.Profile, byFlow bool) *naive {
	t.Helper()
	schedule := pacer.New(p)
	m := &naive{
		run: run{New(p, schedule), t, schedule}, closed: p.Closed(), byFlow: byFlow, messages: map[int]*message{},
		lastSeen: map[string]int{}, late: map[string]int{}, phases: make([]PhaseCount, len(p.Phases)),
		scheduled: make([]int, len(p.Flows)),
	}
	if byFlow {
		m.run.pacer = schedule.ByFlow()
		m.ByFlow(m.run.pacer)
	}
	m.Start(epoch)
	for n := range schedule.Requests() {
		m.schedule(schedule.Slot(n))
	}
	return m
}

func (m *naive) schedule(s pacer.Slot) {
	m.phases[s.Phase].Requests++
	m.phases[s.Phase].Messages += s.Messages
	if m.Ledger.phases[s.Phase].Measured {
		m.scheduled[s.Flow] += s.Messages
	}
}

// take sends a request, or drops it.
func (m *naive) take(s pacer.Slot, at int64, drop bool) {
	m.requests++
	if m.closed {
		m.schedule(s)
	}
	outcome := inFlight
	if drop {
		outcome = dropped
		m.dropped++
		m.Drop(s)
	} else {
		m.inFlight++
		m.Sent(s, at)
	}
	for seq := s.FirstSeq; seq < s.FirstSeq+s.Messages; seq++ {
		m.messages[seq] = &message{
			slot: s, sent: at, outcome: outcome, got: map[int]bool{}, deliveries: m.flows[s.Flow].Deliveries,
		}
	}
}

func (m *naive) retry() {
	m.retried++
	m.Retried()
}

func (m *naive) settle(s pacer.Slot, outcome Outcome) {
	m.Settle(s, outcome)
	m.inFlight--
	for seq := s.FirstSeq; seq < s.FirstSeq+s.Messages; seq++ {
		m.messages[seq].outcome = outcome
	}
	if outcome == Accepted {
		m.phases[s.Phase].Accepted += s.Messages
	} else {
		m.failed++
	}
}

func (m *naive) find(seq int, fate Fate) {
	msg := m.messages[seq]
	known := msg != nil && msg.outcome != dropped
	require.Equal(m.t, known, m.Find(seq, fate))
	if known && !msg.arrived() {
		msg.fate = fate
	}
}

// cut compacts the ledger and compares the backlog.
func (m *naive) cut() {
	owed := 0
	for _, msg := range m.messages {
		if msg.outcome == Accepted {
			owed += msg.deliveries - len(msg.got)
		}
	}
	require.Equal(m.t, owed, m.Cut().Backlog)
}

func (m *naive) arrive(subscriber, seq int, at int64) {
	m.Arrive(subscriber, []Arrival{{Seq: seq, At: at}}, nil)
	msg := m.messages[seq]
	switch {
	case msg == nil || msg.outcome == dropped:
		m.foreign++
		return
	case msg.got[subscriber]:
		m.duplicates++
		return
	}
	if msg.outcome == Rejected {
		m.ofRejected++
	}
	msg.got[subscriber] = true
	m.deliveries++
	due := epoch + msg.slot.Due.Microseconds()
	if m.closed {
		due = msg.sent
	}
	m.latency += int(at - due)

	target := m.target(seq, msg)
	topic := fmt.Sprintf("%d %s", subscriber, target)
	if m.byFlow {
		topic = fmt.Sprintf("%s of flow %d", topic, msg.slot.Flow)
	}
	if last, ok := m.lastSeen[topic]; ok && seq < last {
		m.reordered++
		m.late[target]++
	}
	m.lastSeen[topic] = max(m.lastSeen[topic], seq)
}

func (m *naive) target(seq int, msg *message) string {
	flow := m.flows[msg.slot.Flow]
	return fmt.Sprintf("%s/%d", flow.Target, (msg.slot.OfFlow+seq-msg.slot.FirstSeq)%flow.Targets)
}

// account returns the account. While a run is running, unresolved messages are pending.
func (m *naive) account(running bool) Account {
	a := Account{
		Requests: Requests{Scheduled: m.pacer.Requests(), Sent: m.requests - m.dropped, Retried: m.retried,
			Failed: m.failed},
		Duplicates: m.duplicates, Reordered: m.reordered, Foreign: m.foreign,
		Deliveries: Deliveries{Arrived: m.deliveries},
	}
	for _, p := range m.phases {
		a.Scheduled += p.Messages
	}
	if m.closed {
		a.Requests.Scheduled = m.requests
	} else {
		a.Dropped = a.Scheduled - len(m.messages)
	}
	for _, msg := range m.messages {
		seen := len(msg.got) > 0
		switch {
		case running && msg.outcome == Accepted:
			a.Deliveries.Due += msg.deliveries
		case running:
			a.Deliveries.Due += len(msg.got)
		case msg.outcome == Accepted || seen:
			a.Deliveries.Due += msg.deliveries
		}
		switch {
		case msg.arrived():
			a.Arrived++
		case msg.fate == Queued:
			a.Queued++
		case msg.fate == DeadLettered:
			a.DeadLettered++
		case msg.outcome == dropped:
			a.Dropped++
		case msg.outcome == Accepted || seen:
			a.Lost++
		case msg.outcome == Rejected:
			a.Rejected++
		default:
			a.Unknown++
		}
	}
	arrived := a.Arrived
	if running {
		a.Dropped = 0
		for _, msg := range m.messages {
			if msg.outcome == dropped {
				a.Dropped++
			}
		}
		a.Pending = a.Scheduled - a.Arrived - a.Rejected - a.Dropped
		a.Unknown, a.Queued, a.DeadLettered, a.Lost = 0, 0, 0, 0
	}
	return a.closed(arrived)
}

// check compares every answer of the ledger.
func (m *naive) check() {
	t := m.t
	t.Helper()
	final := m.Final()
	require.True(t, final.Balanced, "%+v", final)
	if m.closed {
		require.LessOrEqual(t, final.Unmeasured, m.ofRejected)
	} else {
		require.Zero(t, final.Unmeasured)
	}
	times := NewTimes(6)
	for i := range m.phases {
		times.Merge(m.Times(i))
	}
	require.Equal(t, m.deliveries, int(times.Arrival.Count)+final.Unmeasured, "every delivery is a sample")
	require.GreaterOrEqual(t, int(times.FromSend.Count), m.deliveries-m.ofRejected)
	if final.Unmeasured == 0 {
		require.Equal(t, m.latency, int(times.Arrival.Sum))
	}
	final.Unmeasured = 0
	require.Equal(t, m.account(false), final)

	running := m.Running(m.pacer.Requests)
	require.True(t, running.Balanced, "%+v", running)
	running.Unmeasured = 0
	require.Equal(t, m.account(true), running.Account)

	open := 0
	for _, msg := range m.messages {
		if msg.open() {
			open++
		}
	}
	require.Equal(t, []int{open, m.inFlight, m.deliveries}, []int{m.Open(), m.InFlight(), m.Deliveries()})
	phases, forgotten := m.taken(), 0
	for _, s := range []Standing{running, m.Ended()} {
		// in the closed model the phase of a message that was rejected long before is forgotten
		for i := range s.Phases {
			forgotten = max(forgotten, phases[i].Taken-s.Phases[i].Taken)
			if m.closed {
				s.Phases[i].Taken, s.Phases[i].Due = phases[i].Taken, phases[i].Due
			}
		}
		require.Equal(t, []any{phases, m.scheduled}, []any{s.Phases, s.Flows})
	}
	require.LessOrEqual(t, forgotten, m.ofRejected)
	m.checkTargets()
}

// taken are the phases with the messages that were accepted, or arrived though their request had failed.
func (m *naive) taken() []PhaseCount {
	phases := slices.Clone(m.phases)
	for _, msg := range m.messages {
		if msg.outcome == Accepted || msg.outcome != inFlight && len(msg.got) > 0 {
			phases[msg.slot.Phase].Taken++
			phases[msg.slot.Phase].Due += msg.deliveries
		}
	}
	return phases
}

// checkTargets compares the figures of each target.
func (m *naive) checkTargets() {
	t := m.t
	t.Helper()
	lost := map[string]int{}
	for seq, msg := range m.messages {
		if !msg.arrived() && msg.fate == Lost && msg.outcome != dropped &&
			(msg.outcome == Accepted || len(msg.got) > 0) {
			lost[m.target(seq, msg)]++
		}
	}
	targets, others := m.Targets()
	require.Nil(t, others)
	samples := int64(0)
	for _, target := range targets {
		require.Equal(t, []int{m.late[target.Name], lost[target.Name]}, []int{target.Reordered, target.Lost},
			target.Name)
		samples += target.Arrival.Count
	}
	measured := int64(0)
	for i, phase := range m.Ledger.phases {
		if phase.Measured {
			measured += m.Times(i).Arrival.Count
		}
	}
	require.Equal(t, measured, samples)
}
