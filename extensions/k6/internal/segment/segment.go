// Package segment divides a run among instances: which part a process has, and how they start together.
package segment

import (
	"fmt"
	"strconv"
	"strings"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Segment is this instance's part of the run, from k6's --execution-segment. Each instance is one generator: it
// sends its part of each flow's requests, by k6's striping, and receives what it has sent, under its own topics.
// Subscribing to everything would be as exact, but the broker would deliver each message once for each
// instance, which is another load than intended.
type Segment struct {
	tuple *lib.ExecutionTuple
	own   []int // this instance's numbers of every `every`, ascending
	every int
}

// Whole is the segment of a single instance.
func Whole() Segment {
	tuple, err := lib.NewExecutionTuple(nil, nil)
	if err != nil {
		panic(err) // one segment has no gaps and no overlaps
	}
	return ofTuple(tuple)
}

func ofTuple(tuple *lib.ExecutionTuple) Segment {
	own, every := stripes(tuple)
	return Segment{tuple: tuple, own: own, every: every}
}

// Flags of k6's command line.
const (
	Flag         = "--execution-segment"
	SequenceFlag = "--execution-segment-sequence"
)

// Read finds the segment in k6's command line: k6 passes it to scripts only after the load has begun, too late
// for the scenarios. Without the flags it is Whole.
func Read(args []string) (Segment, error) {
	one, all := flagOf(args, Flag), flagOf(args, SequenceFlag)
	if one == "" && all == "" {
		return Whole(), nil
	}
	s, err := parse(one, all)
	if err != nil {
		return Whole(), err
	}
	return s, nil
}

func parse(one, all string) (s Segment, err error) {
	const wanted = "both are needed, like " + SequenceFlag + " 0,1/3,2/3,1 " + Flag + " 0:1/3"
	if one == "" || all == "" {
		return s, fmt.Errorf("%s and %s say which instance this is, and how many there are: %s",
			Flag, SequenceFlag, wanted)
	}
	of, err := lib.NewExecutionSegmentFromString(one)
	if err != nil {
		return s, fmt.Errorf("%s %s: %w; %s", Flag, one, err, wanted)
	}
	sequence, err := lib.NewExecutionSegmentSequenceFromString(all)
	if err != nil {
		return s, fmt.Errorf("%s %s: %w; %s", SequenceFlag, all, err, wanted)
	}
	tuple, err := lib.NewExecutionTuple(of, &sequence)
	if err != nil {
		return s, fmt.Errorf("%s %s: %w; %s", Flag, one, err, wanted)
	}
	return ofTuple(tuple), nil
}

// flagOf is the value of a flag as pflag parses it; empty: not set.
func flagOf(args []string, name string) (value string) {
	for i, arg := range args {
		if arg == name && i+1 < len(args) {
			value = args[i+1]
		} else if v, ok := strings.CutPrefix(arg, name+"="); ok {
			value = v
		}
	}
	return value
}

// stripes are the numbers that k6 gives an instance, and their period.
func stripes(tuple *lib.ExecutionTuple) (own []int, every int) {
	start, offsets, lcd := tuple.GetStripedOffsets()
	own = []int{int(start)}
	for _, offset := range offsets[:len(offsets)-1] { // the last one leads to the next round
		own = append(own, own[len(own)-1]+int(offset))
	}
	return own, int(lcd)
}

// Number is the number of this instance in the ids of its messages, from 1.
func (s Segment) Number() int {
	return s.tuple.SegmentIndex + 1
}

// Of returns how many instances the run has.
func (s Segment) Of() int {
	return len(s.tuple.Sequence.ExecutionSegmentSequence)
}

// Alone reports whether the run has no other instance.
func (s Segment) Alone() bool { return s.Of() == 1 }

// String names the instance as reports do.
func (s Segment) String() string { return fmt.Sprintf("generator %d of %d", s.Number(), s.Of()) }

// Scale is the instance's share of a number of things.
func (s Segment) Scale(n int) int {
	return int(s.tuple.ScaleInt64(int64(n)))
}

// Unscale is the smallest number of which the instance's share is n: the number for a scenario, since k6
// divides it among the instances.
func (s Segment) Unscale(n int) int {
	if n == 0 {
		return 0
	}
	return (n-1)/len(s.own)*s.every + s.own[(n-1)%len(s.own)] + 1
}

// UnscaleShared is Unscale for iterations that VUs share, which k6 divides in proportion to the instances' VUs.
func (s Segment) UnscaleShared(n, vus int) int {
	own, some := s.among(vus)
	if !some {
		return n
	}
	return own.Unscale(n)
}

// among is the instance among those that have some of the VUs. some is false if it has none of them.
func (s Segment) among(vus int) (own Segment, some bool) {
	tuple, err := s.tuple.GetNewExecutionTupleFromValue(int64(vus))
	if err != nil {
		return own, false
	}
	return ofTuple(tuple), true
}

// ScaleShared is the instance's share of requests that VUs share, in proportion to its VUs.
func (s Segment) ScaleShared(n, vus int) int {
	own, some := s.among(vus)
	if !some {
		return 0
	}
	return own.Scale(n)
}

// Share is the schedule of the instance.
func (s Segment) Share(whole *pacer.Pacer) *pacer.Pacer {
	if s.Alone() || whole.Closed() { // the closed model is divided by its VUs
		return whole
	}
	return whole.Share(s.own, s.every)
}

// InEffect refuses a segment that k6 did not get from its command line, and scenarios of another start time:
// subscriber or senders would be missing.
func (s Segment) InEffect(o lib.Options) error {
	var tuple *lib.ExecutionTuple
	if o.ExecutionSegment != nil || o.ExecutionSegmentSequence != nil {
		var err error
		if tuple, err = lib.NewExecutionTuple(o.ExecutionSegment, o.ExecutionSegmentSequence); err != nil {
			return err
		}
	}
	divided := tuple != nil && len(tuple.Sequence.ExecutionSegmentSequence) > 1
	if divided == s.Alone() || divided && tuple.String() != s.tuple.String() {
		return fmt.Errorf("the execution segment has to be set on k6's command line (%s, %s), not in options or a "+
			"configuration", Flag, SequenceFlag)
	}
	if !divided {
		return nil
	}
	if scenario := o.Scenarios["subscriber"]; scenario != nil && !scenario.HasWork(tuple) {
		return fmt.Errorf("the scenario subscriber has no VU in %s: an archive holds the scenarios of when it was "+
			"made, so run the script itself", s)
	}
	return nil
}

// Repeats is the number of requests after which flows and instances repeat together.
func (s Segment) Repeats(whole *pacer.Pacer) int { return whole.Period(s.every) }

// Describe is the instance's part of the report; nil if it is the only one. start is common to all instances,
// µs on the clock of Redis.
func (s Segment) Describe(start int64, lateMS float64) *runfile.Generator {
	if s.Alone() {
		return nil
	}
	return &runfile.Generator{
		Number: s.Number(), Of: s.Of(), Segment: s.tuple.Segment.String(),
		Sequence: s.tuple.Sequence.String(), StartUS: start, LateMS: lateMS,
	}
}

// Name is the run's name, and among several instances one that is unique to this instance: for its connections
// and its canary.
func (s Segment) Name(run string) string {
	if s.Alone() {
		return run
	}
	return run + "." + strconv.Itoa(s.Number())
}
