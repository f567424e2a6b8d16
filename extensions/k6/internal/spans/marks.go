package spans

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// MarkOption is a row of the option spans.marks.
type MarkOption struct {
	Mark string `json:"mark"`
	Span struct {
		Kind    string `json:"kind,omitempty"`    // empty: any
		Name    string `json:"name,omitempty"`    // /…/ is a regular expression; empty: any
		Service string `json:"service,omitempty"` // empty: any
	} `json:"span"`
	At string `json:"at,omitempty"` // start (default), end
}

// Mark is a moment that ends one stage of a message and begins the next: the start or the end of a span.
type Mark struct {
	Name   string
	Span   string // which one, in words
	among  []choice
	always bool // a message without it has no stages; otherwise it may be one that this pipeline does not make
}

// choice says which spans are a mark. Of several choices the first that has a span counts.
type choice struct {
	is    func(s *span, name, service string) bool
	under under
	atEnd bool
}

// under is the place that a span must have relative to the consumers of its trace.
type under uint8

const (
	anywhere under = iota
	before         // it has no consumer above it
	below          // it has one
)

const (
	server   = tracepb.Span_SPAN_KIND_SERVER
	client   = tracepb.Span_SPAN_KIND_CLIENT
	producer = tracepb.Span_SPAN_KIND_PRODUCER
	consumer = tracepb.Span_SPAN_KIND_CONSUMER
)

// Default are the marks by OpenTelemetry's semantic conventions for messaging and HTTP. They have the names of this
// repository's own stamps. A queue has a message from the start of its producer's span on: the end is when the broker's
// answer is read, by which time a consumer may have it.
func Default() []Mark {
	of := func(kind tracepb.Span_SpanKind, more func(*span) bool) func(*span, string, string) bool {
		return func(s *span, _, _ string) bool { return s.kind == kind && more(s) }
	}
	all := func(*span) bool { return true }
	return []Mark{
		{Name: "received", Span: "start of the server", among: []choice{{is: of(server, all), under: before}}},
		{Name: "queued", Span: "start of the producer", among: []choice{{is: of(producer, all), under: before}}},
		{Name: "claimed", Span: "start of the consumer (process), else its end (receive)", among: []choice{
			{is: of(consumer, func(s *span) bool { return !s.receives })},
			{is: of(consumer, func(s *span) bool { return s.receives }), atEnd: true},
		}},
		{Name: "published", Span: "start of the producer below the consumer, else of its HTTP request", among: []choice{
			{is: of(producer, all), under: below},
			{is: of(client, func(s *span) bool { return s.calls }), under: below},
		}},
	}
}

var (
	markLike = regexp.MustCompile(`^[a-z][a-z0-9_]{0,15}$`)
	kinds    = map[string]tracepb.Span_SpanKind{
		"server": server, "client": client, "producer": producer, "consumer": consumer,
		"internal": tracepb.Span_SPAN_KIND_INTERNAL,
	}
	// outer are the marks that the run itself makes.
	outer = []string{"due", "sent", "arrived"}
)

// Table makes marks of options; none: Default. The error says what is allowed.
func Table(options []MarkOption) ([]Mark, error) {
	if len(options) == 0 {
		return Default(), nil
	}
	if len(options) > stages.Most-2 {
		return nil, fmt.Errorf("spans.marks has %d rows; allowed: up to %d", len(options), stages.Most-2)
	}
	var all []Mark
	for _, o := range options {
		if slices.ContainsFunc(all, func(m Mark) bool { return m.Name == o.Mark }) || slices.Contains(outer, o.Mark) {
			return nil, fmt.Errorf("spans.marks: the mark %q is listed twice, or is one of the run's own (%s)",
				o.Mark, strings.Join(outer, ", "))
		}
		m, err := o.mark()
		if err != nil {
			return nil, fmt.Errorf("spans.marks: the mark %q: %w", o.Mark, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func (o MarkOption) mark() (Mark, error) {
	m := Mark{Name: o.Mark, always: true}
	kind, known := kinds[o.Span.Kind]
	switch {
	case !markLike.MatchString(o.Mark):
		return m, errors.New("up to 16 small letters, digits and _ are allowed, with a letter first")
	case o.Span.Kind != "" && !known:
		return m, fmt.Errorf("span.kind is %q; allowed: server, client, producer, consumer, internal", o.Span.Kind)
	case o.At != "" && o.At != "start" && o.At != "end":
		return m, fmt.Errorf("at is %q; allowed: start, end", o.At)
	case o.Span.Kind == "" && o.Span.Name == "" && o.Span.Service == "":
		return m, errors.New("span is empty; allowed: a kind, a name or a service")
	}
	named, err := matcher(o.Span.Name)
	if err != nil {
		return m, fmt.Errorf("span.name: %w", err)
	}
	serves, err := matcher(o.Span.Service)
	if err != nil {
		return m, fmt.Errorf("span.service: %w", err)
	}
	at := "start"
	if o.At == "end" {
		at = "end"
	}
	m.Span = strings.Join(slices.DeleteFunc([]string{at, "of", o.Span.Service, o.Span.Kind, o.Span.Name},
		func(s string) bool { return s == "" }), " ")
	m.among = []choice{{atEnd: at == "end", is: func(s *span, name, service string) bool {
		return (o.Span.Kind == "" || s.kind == kind) && named(name) && serves(service)
	}}}
	return m, nil
}

// matcher matches a text as a whole, or by a regular expression between slashes. Empty matches everything.
func matcher(pattern string) (func(string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if len(pattern) < 2 || pattern[0] != '/' || pattern[len(pattern)-1] != '/' {
		return func(s string) bool { return s == pattern }, nil
	}
	expression, err := regexp.Compile(pattern[1 : len(pattern)-1])
	if err != nil {
		return nil, fmt.Errorf("%s is not a regular expression: %w", pattern, err)
	}
	return expression.MatchString, nil
}
