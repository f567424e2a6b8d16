package arrival

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// options are those of new Run(). index.d.ts documents them.
type options struct {
	Name       string                    `json:"name"`
	Protocol   string                    `json:"protocol"` // empty: HTTP, or MQTT with publishers
	RunID      string                    `json:"runId"`
	Gather     seconds                   `json:"gather"`
	Profile    profileOption             `json:"profile"`
	Phases     map[string]map[string]any `json:"phases"`
	EveryFlow  map[string]any            `json:"everyFlow"`
	Ingest     send.Ingest               `json:"ingest"`
	MQTT       receive.Options           `json:"mqtt"`
	Redis      redisOptions              `json:"redis"`
	CA         string                    `json:"ca"`
	ID         string                    `json:"id"`
	Body       string                    `json:"body"`
	Fuzz       *fuzzOptions              `json:"fuzz"`
	Senders    int                       `json:"senders"`
	InFlight   int                       `json:"inFlight"`
	Publishers *send.PublisherOptions    `json:"publishers"`
	Queue      *store.QueueOptions       `json:"queue"`
	Answers    bool                      `json:"answers"` // messages have arrived when their request is accepted
	Timeout    seconds                   `json:"timeout"`
	Drain      seconds                   `json:"drain"`
	Idle       seconds                   `json:"idle"`
	Topology   string                    `json:"topology"`
	Network    string                    `json:"network"`
	OneHost    bool                      `json:"oneHost"`
	Canary     bool                      `json:"canary"`
	Sampled    int                       `json:"sampled"` // one message in this many is looked up in the trace lists; 0: none
	Traces     int                       `json:"traces"`  // number of sampled messages with traces, besides slow and missing ones; 0: no traces
	Clock      clockOptions              `json:"clock"`
	Labels     map[string]string         `json:"labels"`
	Facts      map[string]any            `json:"facts"` // of the pipeline
	Runs       string                    `json:"runs"`
	Dir        string                    `json:"dir"`
	Command    string                    `json:"command"`

	SenderConnections int `json:"senderConnections"`

	profile *profile.Profile
	tool    report.Tool // what sends
}

type profileOption struct{ Name, Text string }

// fuzzOptions make payloads of random values.
type fuzzOptions struct {
	Spec string `json:"spec"`
	Seed uint64 `json:"seed"`

	spec *fuzz.Spec
}

type clockOptions struct {
	Limit *seconds `json:"limit"` // of the bound; nil: only the built-in one
}

type redisOptions struct {
	URL string `json:"url"`
}

// seconds is a duration in seconds, or with its unit: 10, "10s", "500ms".
type seconds time.Duration

func (s *seconds) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`) // environment variables are strings
	d, err := time.ParseDuration(text)
	if number, wrong := strconv.ParseFloat(text, 64); wrong == nil {
		d, err = time.Duration(number*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return &json.UnmarshalTypeError{Value: string(b), Type: reflect.TypeFor[seconds]()} // the decoder adds the option's name
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
	return json.Unmarshal(b, (*plain)(p))
}

func (d seconds) duration() time.Duration { return time.Duration(d) }

func defaults() options {
	return options{
		Name: "run", ID: "id", Senders: 64, InFlight: 1, SenderConnections: 1, Canary: true, Topology: "single", Network: "loopback", Runs: "reports/runs",
		Gather: seconds(time.Minute), Timeout: seconds(10 * time.Second), Drain: seconds(30 * time.Second), Idle: seconds(10 * time.Second),
		Ingest: send.Ingest{Path: "/messages", BatchPath: "/messages/batch", KeepAlive: true},
		MQTT:   receive.Options{Prefix: "messages/", QoS: 1, Version: "5", Session: "clean", Topics: "exact"},
		tool:   report.Tool{Name: "k6", Version: k6Version()},
	}
}

func parseOptions(rt *sobek.Runtime, v sobek.Value) (*options, error) {
	if v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) {
		return nil, errors.New("new Run() wants its options: { profile, ingest, mqtt, … }")
	}
	text, err := json.Marshal(v.ToObject(rt))
	if err != nil {
		return nil, fmt.Errorf("options of Run: %w", err)
	}
	o := defaults()
	if err := Decode(text, &o); err != nil {
		return nil, fmt.Errorf("options of Run: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return &o, nil
}

// Decode reads a JSON object into a struct. Errors name the option, its value and what is allowed.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && d.More():
		return errors.New("there is more than one JSON value")
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Type == reflect.TypeFor[seconds]():
		return fmt.Errorf("%s is %s, which is not a duration: seconds, or a number with its unit, like \"500ms\"", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is a %s, but %s is wanted", wrong.Field, wrong.Value, wrong.Type)
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("unknown option %s", name)
	}
	return err
}

func (o *options) messages() body.Format {
	f := body.Format{Template: o.Body, ID: o.ID, Source: o.tool.Name}
	if o.Fuzz != nil {
		f.Fuzz, f.Seed = o.Fuzz.spec, o.Fuzz.Seed
	}
	return f
}

// same refuses a second run in one process: all VUs share one schedule.
func (e *engine) same(o *options) error {
	a, b := *e.options, *o
	a.profile, b.profile = nil, nil
	if !reflect.DeepEqual(a, b) {
		return errors.New("a second Run with other options: a script has one Run, made outside of its functions")
	}
	return nil
}
