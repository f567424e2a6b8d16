package engine

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// notes are what the report needs besides the ledger.
type notes struct {
	mu       sync.Mutex
	errors   map[string]*runfile.ErrorClass
	connects ledger.Series // durations of opening a connection to the ingest
	lists
}

// lists are the lists that a report contains unchanged.
type lists struct {
	doubts    []string // why the instrument cannot be trusted
	figures   []runfile.Figure
	answer    string // the script's own; empty: it gave none
	abandoned string // how far the senders came before they ended; empty: they did not
	processes []runfile.ProcessClock
	resources []runfile.Resource
	sampled   *store.Sampled // nil: not requested, or not read yet
	spans     *runfile.Spans // likewise
}

// classesMost bounds the classes of errors: some are named by what a server answered.
const classesMost = 200

// Count counts an error of a class, and keeps the first of each class as its example.
func (n *notes) Count(stage, class, example string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := stage + " " + class
	if n.errors == nil {
		n.errors = map[string]*runfile.ErrorClass{}
	}
	if n.errors[key] == nil && len(n.errors) >= classesMost {
		class, key = "others", stage+" others"
	}
	if n.errors[key] == nil {
		n.errors[key] = &runfile.ErrorClass{Stage: stage, Class: class, Example: example}
	}
	n.errors[key].Count++
}

// Distrust makes the run invalid and gives the reason. Rules about figures are in internal/judge.
func (n *notes) Distrust(format string, args ...any) {
	n.note(func() { n.doubts = append(n.doubts, fmt.Sprintf(format, args...)) })
}

// figure is run.figure(name, value, unit): it adds a figure of the script's own. A second figure of the same
// name replaces the first.
func (n *notes) figure(name string, value float64, unit string) {
	f := runfile.Figure{Name: name, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		f.Value = &value
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.IndexFunc(n.figures, func(o runfile.Figure) bool { return o.Name == name }); i >= 0 {
		n.figures[i] = f
		return
	}
	n.figures = append(n.figures, f)
}

// note changes the notes.
func (n *notes) note(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// noted returns a copy of the lists, and the classes of errors, the most frequent first.
func (n *notes) noted() (lists, []runfile.ErrorClass) {
	n.mu.Lock()
	defer n.mu.Unlock()
	classes := make([]runfile.ErrorClass, 0, len(n.errors))
	for _, class := range n.errors {
		classes = append(classes, *class)
	}
	sort.Slice(classes, func(i, j int) bool { return classes[i].Count > classes[j].Count })
	return lists{
		copyOf(n.doubts), copyOf(n.figures), n.answer, n.abandoned, copyOf(n.processes), copyOf(n.resources), n.sampled,
		n.spans,
	}, classes
}

// copyOf returns a copy that is never nil, so that JSON has an empty list.
func copyOf[T any](list []T) []T { return append([]T{}, list...) }

// Answer is run.answer(sentence): the script's own answer to its question.
func (e *Engine) Answer(sentence string) { e.notes.note(func() { e.notes.answer = sentence }) }

// Figure adds a figure of the script's own to the report; NaN: not measured.
func (e *Engine) Figure(name string, value float64, unit string) { e.notes.figure(name, value, unit) }
