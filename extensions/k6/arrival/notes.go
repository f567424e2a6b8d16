package arrival

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// notes are what is noted for the report on the way, beside the ledger.
type notes struct {
	mu       sync.Mutex
	errors   map[string]*report.ErrorClass
	connects ledger.Series // how long connections to the ingest took to open
	lists
}

// lists are what a report takes as it is.
type lists struct {
	doubts    []string // why the instrument can't be trusted
	figures   []report.Figure
	processes []report.ProcessClock
	timeline  []report.Interval
	resources []report.Resource
	sampled   *store.Sampled // nil: not asked for, or not there yet
}

// count adds one to a class of errors. The first of a class is kept as its example.
func (n *notes) count(stage, class, example string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := stage + " " + class
	if n.errors == nil {
		n.errors = map[string]*report.ErrorClass{}
	}
	if n.errors[key] == nil {
		n.errors[key] = &report.ErrorClass{Stage: stage, Class: class, Example: example}
	}
	n.errors[key].Count++
}

// distrust makes the run invalid, for a reason in plain words. internal/judge knows the rules that are about figures.
func (n *notes) distrust(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.doubts = append(n.doubts, fmt.Sprintf(format, args...))
}

// figure is run.figure(name, value, unit): what the script says beyond what every run says. A second one of a name replaces the first.
func (n *notes) figure(name string, value float64, unit string) {
	f := report.Figure{Name: name, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		f.Value = &value
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.IndexFunc(n.figures, func(o report.Figure) bool { return o.Name == name }); i >= 0 {
		n.figures[i] = f
		return
	}
	n.figures = append(n.figures, f)
}

// opened notes how long a connection to the ingest took, with TLS.
func (n *notes) opened(took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connects.Add(took.Microseconds())
}

// second adds a second of the run.
func (n *notes) second(row report.Interval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timeline = append(n.timeline, row)
}

// used adds what processes used, and how well they knew the time.
func (n *notes) used(resources []report.Resource, clocks []report.ProcessClock) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resources = append(n.resources, resources...)
	n.processes = append(n.processes, clocks...)
}

// traced notes what the trace lists have told.
func (n *notes) traced(s *store.Sampled) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sampled = s
}

// noted is a copy of the lists, and the classes of errors, the most frequent first.
func (n *notes) noted() (lists, []report.ErrorClass) {
	n.mu.Lock()
	defer n.mu.Unlock()
	classes := make([]report.ErrorClass, 0, len(n.errors))
	for _, class := range n.errors {
		classes = append(classes, *class)
	}
	sort.Slice(classes, func(i, j int) bool { return classes[i].Count > classes[j].Count })
	return lists{
		copyOf(n.doubts), copyOf(n.figures), copyOf(n.processes), copyOf(n.timeline), copyOf(n.resources), n.sampled,
	}, classes
}

// copyOf is never nil: JSON has an empty list then.
func copyOf[T any](list []T) []T { return append([]T{}, list...) }
