// Package run has the parts of a run that the sending, receiving and Redis packages share.
package run

import (
	"bytes"
	"strings"
	"sync/atomic"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Parts are the shared parts of one instance of a run. All may be used from any goroutine.
type Parts struct {
	*schedule.Course // what is due when, the ledger, and the clock
	*Messages        // which request carries a message, and what it was sent with
	Notes            // errors and doubts

	ID      string           // the run's, which begins every message's
	Name    string           // names this instance's own things: its connections, its canary
	Profile *profile.Profile // its targets are the instance's own
	Targets profile.Targets  // those of Profile, by number
	Bodies  *body.Bodies
}

// Notes take what the report says besides the account.
type Notes interface {
	// Count counts an error of a class, and may keep its example.
	Count(stage, class, example string)
	// Distrust makes the run invalid, with a reason in plain words.
	Distrust(format string, args ...any)
}

// Comparison says how far the run knows what its messages were sent with.
type Comparison struct {
	Every int  // the bytes of one message in so many are compared; 0: of none
	Given bool // the script wants Every, also where it makes the requests itself
	Named bool // the run's own requests name their target
}

// Messages knows which request carries a message, and what it was sent with.
type Messages struct {
	// Scripted is true once a script or a caller makes the requests itself, perhaps with other bodies, flows and targets.
	Scripted atomic.Bool

	course     *schedule.Course
	bodies     *body.Bodies
	comparison Comparison
	sums       *Sums // nil: the caller does not tell what it sends
	foreign    atomic.Pointer[[]byte]
}

// NewMessages are the messages of a run.
func NewMessages(course *schedule.Course, bodies *body.Bodies, c Comparison) *Messages {
	m := &Messages{course: course, bodies: bodies, comparison: c}
	if course.Pacer.Told() && c.Given && c.Every > 0 {
		m.sums = newSums(c.Every)
	}
	return m
}

// Slot is the request that carries a message.
func (m *Messages) Slot(seq int) pacer.Slot {
	if m.Scripted.Load() { // it may choose the flows
		return m.course.Ledger.SlotOf(seq)
	}
	return m.course.Pacer.SlotOf(seq)
}

// Verify returns n where the bytes of one message in n are compared with what was sent; 0: what was sent is not known.
func (m *Messages) Verify() int {
	if m.Scripted.Load() && !m.comparison.Given {
		return 0
	}
	return m.comparison.Every
}

// Sums are those of what a caller tells that it sent; nil: what arrives is not compared with it.
func (m *Messages) Sums() *Sums { return m.sums }

// Addressed reports whether a message that came said for which target it is: otherwise it can't have come to a wrong
// one. A script that makes its own bodies may send to other targets than it was given.
func (m *Messages) Addressed(seq int, payload []byte) bool {
	if !m.Scripted.Load() {
		return m.comparison.Named
	}
	if m.course.Pacer.Told() { // no target is told
		return false
	}
	slot := m.Slot(seq)
	return names(payload, m.bodies.AppendTarget(nil, slot, seq-slot.FirstSeq))
}

// names reports whether a text has the name of a target, and not as a part of another one.
func names(text, target []byte) bool {
	for at := 0; ; at++ {
		found := bytes.Index(text[at:], target)
		if found < 0 {
			return false
		}
		at += found
		end := at + len(target)
		if !(at > 0 && inName(text[at-1])) && !(end < len(text) && inName(text[end])) {
			return true
		}
	}
}

// inName reports whether the name of a target may have a byte.
func inName(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || strings.IndexByte("_.:@~/-", b) >= 0
}

// Sample keeps the first foreign message, which the report shows.
func (m *Messages) Sample(payload []byte) {
	if m.foreign.Load() == nil {
		m.foreign.CompareAndSwap(nil, new(bytes.Clone(payload)))
	}
}

// Foreign is the first message that was none of the run; nil: none came.
func (m *Messages) Foreign() []byte {
	if first := m.foreign.Load(); first != nil {
		return *first
	}
	return nil
}
