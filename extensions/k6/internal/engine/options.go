package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Options are the options of new Run(). index.d.ts documents them.
type Options struct {
	sources
	Name       string                    `json:"name"`
	Protocol   string                    `json:"protocol"` // empty: HTTP, or MQTT with publishers
	RunID      string                    `json:"runId"`
	Gather     seconds                   `json:"gather"`
	Profile    profileOption             `json:"profile"`
	Phases     map[string]map[string]any `json:"phases"`
	Flows      []map[string]any          `json:"flows"` // in place of the profile's; empty: those stay
	EveryFlow  map[string]any            `json:"everyFlow"`
	Ingest     send.Ingest               `json:"ingest"`
	Redis      redisOptions              `json:"redis"`
	CA         string                    `json:"ca"`
	ID         string                    `json:"id"`
	IDFormat   string                    `json:"idFormat"`
	IDFrom     string                    `json:"idFrom"`
	Body       string                    `json:"body"`
	Rows       map[string][]string       `json:"rows"` // by column, a value for each target
	Fuzz       *fuzzOptions              `json:"fuzz"`
	Senders    int                       `json:"senders"`
	MaxSenders int                       `json:"maxSenders"` // 0: see mostSenders
	InFlight   int                       `json:"inFlight"`
	Publishers *send.PublisherOptions    `json:"publishers"`
	Timeout    seconds                   `json:"timeout"`
	Drain      seconds                   `json:"drain"`
	Idle       seconds                   `json:"idle"`
	Topology   string                    `json:"topology"`
	Network    string                    `json:"network"`
	OneHost    bool                      `json:"oneHost"`
	Canary     bool                      `json:"canary"`
	Greet      *bool                     `json:"greet"`  // one message goes round before the load; nil: as Canary
	StageNames []string                  `json:"stages"` // the stages that follow schedule; empty: the default ones
	// one message in this many is looked up in the trace lists; 0: none
	Sampled int `json:"sampled"`
	// number of sampled messages with traces, besides slow and missing ones; 0: no traces
	Traces   int               `json:"traces"`
	Spans    *spans.Options    `json:"spans"`
	Verify   verifyOption      `json:"verify"`
	Clock    clockOptions      `json:"clock"`
	Labels   map[string]string `json:"labels"`
	Facts    map[string]any    `json:"facts"`    // what the script knows about the pipeline
	Question *questionOption   `json:"question"` // nil: the rate that the pipeline holds
	Runs     string            `json:"runs"`
	Dir      string            `json:"dir"`
	Command  string            `json:"command"`

	SenderConnections int `json:"senderConnections"`

	profile *profile.Profile
	source  receive.Source
	from    receive.Description // what source says of itself
	stages  stages.List
	marks   []spans.Mark // the marks that Spans names
	form    body.Form    // ids have it
	ids     *body.From   // where a message has its ids
	tool    runfile.Tool // the program that sends
	told    *pacer.Pacer // a caller's, who tells its requests as it sends them; nil: the profile plans them
}

type profileOption struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// fuzzOptions make payloads of random values.
type fuzzOptions struct {
	Spec string `json:"spec"`
	Seed uint64 `json:"seed"`

	spec *fuzz.Spec
}

type clockOptions struct {
	Limit *seconds `json:"limit"` // the largest bound that is accepted; nil: only the built-in limit
}

// verifyOption is n where one message in n is compared with what was sent, byte for byte.
type verifyOption struct {
	every int  // 0: nothing is compared, not even lengths
	given bool // the script has set it
}

// verifyEvery is the default of verifyOption.
const verifyEvery = 100

// UnmarshalJSON takes a number from 1 on, "off", or nothing ("").
func (v *verifyOption) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`) // environment variables are strings
	if text == "" {
		return nil
	}
	every, err := strconv.Atoi(text)
	if err == nil && every >= 1 || text == "off" {
		*v = verifyOption{every: every, given: true}
		return nil
	}
	return fmt.Errorf(`verify (VERIFY) is %s; allowed: 1 to compare the bytes of every message, n for one in n, "off"`,
		b)
}

type redisOptions struct {
	URL    string `json:"url"`
	Prefix string `json:"prefix"` // begins the pipeline's keys; empty: the default one
}

// seconds is a duration in seconds, or with its unit: 10, "10s", "500ms".
type seconds time.Duration

// secondsMost is a hundred years.
const secondsMost = 100 * 365 * 24 * 3600

func (s *seconds) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`) // environment variables are strings
	d, err := time.ParseDuration(text)
	number, wrong := strconv.ParseFloat(text, 64)
	switch {
	case wrong == nil && number >= 0 && number <= secondsMost:
		d, err = time.Duration(number*float64(time.Second)), nil
	case wrong == nil:
		err = strconv.ErrRange
	}
	if err != nil || d < 0 {
		return valueError(fmt.Sprintf("is %s, which is not a duration: seconds, "+
			"or a number with its unit, like \"500ms\"", b))
	}
	*s = seconds(d)
	return nil
}

// UnmarshalJSON takes the text of the profile, or {name, text}.
func (p *profileOption) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		p.Name = "profile"
		return json.Unmarshal(b, &p.Text)
	}
	type plain profileOption
	if err := Decode(b, (*plain)(p)); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

func (d seconds) duration() time.Duration { return time.Duration(d) }

func defaults() Options {
	return Options{
		Name: "run", ID: "id", Senders: 64, InFlight: 1, SenderConnections: 1, Canary: true, Topology: "single",
		Network: "loopback", Runs: "reports/runs", Verify: verifyOption{every: verifyEvery},
		Gather: seconds(time.Minute), Timeout: seconds(10 * time.Second), Drain: seconds(30 * time.Second),
		Idle:    seconds(10 * time.Second),
		Ingest:  send.Ingest{Path: "/messages", BatchPath: "/messages/batch", KeepAlive: true},
		sources: sources{MQTT: mqtt.Defaults()},
		tool:    runfile.Tool{Name: "k6", Version: k6Version()},
	}
}

func (o *Options) messages() body.Format {
	f := body.Format{
		Template: o.Body, Rows: o.Rows, ID: o.ID, Source: o.tool.Name, Form: o.form, From: o.ids,
		Anywhere: o.told != nil,
	}
	if o.Fuzz != nil {
		f.Fuzz, f.Seed = o.Fuzz.spec, o.Fuzz.Seed
	}
	if o.Webhook != nil {
		f.Webhook = o.Webhook.Known()
	}
	return f
}

// Same refuses a second run in one process: all VUs share one schedule.
func (e *Engine) Same(o *Options) error {
	a, b := *e.options, *o
	a.profile, b.profile, a.source, b.source, a.ids, b.ids, a.marks, b.marks = nil, nil, nil, nil, nil, nil, nil, nil
	if !reflect.DeepEqual(a, b) {
		return errors.New("a second Run with other options: a script has one Run, made outside of its functions")
	}
	return nil
}

// ParseOptions reads the options of new Run() from JSON, and checks them. An error says what is wrong with which one.
func ParseOptions(text []byte) (*Options, error) {
	o := defaults()
	if err := Decode(text, &o); err != nil {
		return nil, fmt.Errorf("options of Run: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return &o, nil
}

// comparison says how far the run knows what its messages are sent with.
func (o *Options) comparison() run.Comparison {
	c := run.Comparison{
		Every: o.Verify.every, Given: o.Verify.given,
		Named: o.Publishers != nil || o.Ingest.Targeted() || o.messages().Targeted(),
	}
	if !c.Given && o.ids != nil {
		c.Every = 0
	}
	return c
}
