package arrival

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// options are those of new Run(). index.d.ts documents them.
type options struct {
	Name       string                    `json:"name"`
	Protocol   string                    `json:"protocol"` // empty: HTTP, or MQTT where connections publish
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
	Sampled    int                       `json:"sampled"` // one message in so many is looked up in the trace lists; 0: none
	Clock      clockOptions              `json:"clock"`
	Labels     map[string]string         `json:"labels"`
	Facts      map[string]any            `json:"facts"` // of the pipeline
	Runs       string                    `json:"runs"`
	Dir        string                    `json:"dir"`
	Template   string                    `json:"template"`
	Command    string                    `json:"command"`

	SenderConnections int `json:"senderConnections"`

	profile *profile.Profile
	tool    report.Tool // who sends
}

type profileOption struct{ Name, Text string }

// fuzzOptions make payloads of random values.
type fuzzOptions struct {
	Spec string `json:"spec"`
	Seed uint64 `json:"seed"`

	spec *fuzz.Spec
}

type clockOptions struct {
	Limit *seconds `json:"limit"` // of the bound; nil: none but the built-in one
}

type redisOptions struct {
	URL string `json:"url"`
}

// seconds is a duration in seconds, or with its unit: 10, "10s", "500ms".
type seconds time.Duration

func (s *seconds) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`) // the environment has texts
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

var (
	idKey    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	runID    = regexp.MustCompile(`^[a-z0-9]{4,32}$`)
	wordLike = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)
)

// protocolMax is how long a protocol's name may be, which stands in the heads of tables.
const protocolMax = 16

// defaults are the options of a run about which nothing is said.
func defaults() options {
	return options{
		Name: "run", ID: "id", Senders: 64, InFlight: 1, SenderConnections: 1, Canary: true, Topology: "single", Network: "loopback", Runs: "reports/runs",
		Gather: seconds(time.Minute), Timeout: seconds(10 * time.Second), Drain: seconds(30 * time.Second), Idle: seconds(10 * time.Second),
		Ingest: send.Ingest{Path: "/messages", BatchPath: "/messages/batch", KeepAlive: true},
		MQTT:   receive.Options{Prefix: "messages/", QoS: 1, Version: "5", Session: "clean", Topics: "exact"},
		tool:   report.Tool{Name: "k6", Version: k6Version()},
	}
}

// parseOptions reads and checks the options of a script.
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

// Decode fills in what a JSON object says. Each error says which option, its value, and what is allowed.
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

func (o *options) check() (err error) {
	if o.profile, err = profile.Parse(o.Profile.Name, o.Profile.Text); err != nil {
		return err
	}
	for _, phase := range sortedKeys(o.Phases) {
		if err := o.profile.Override(phase, o.Phases[phase]); err != nil {
			return err
		}
	}
	if err := o.profile.OverrideFlows(o.EveryFlow); err != nil {
		return err
	}
	u, err := url.Parse(o.Ingest.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("ingest.url %q is not an address: http://host:port or https://host:port (INGEST_URL, or start: npm run pipeline)", report.Mask(o.Ingest.URL))
	}
	if u.User != nil {
		return errors.New("ingest.url (INGEST_URL) holds a user or a password, which would end up in tags: use a token (INGEST_TOKEN)")
	}
	if o.Answers {
		if err := o.checkAnswers(); err != nil {
			return err
		}
	} else if _, err := mqttwire.ParseAddress(o.MQTT.URL); err != nil {
		return fmt.Errorf("mqtt.url (MQTT_URL): %w", err)
	}
	if o.Redis.URL != "" {
		if _, _, err := store.Parse(o.Redis.URL); err != nil {
			return fmt.Errorf("redis.url (REDIS_URL): %w", err)
		}
	}
	if at, isURL := strings.CutPrefix(o.Runs, "file://"); isURL {
		if o.Runs, err = url.PathUnescape(at); err != nil {
			return fmt.Errorf("runs is no file:// URL: %w; allowed: a path, or a URL in which %% is %%25", err)
		}
	}
	if o.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(o.CA)) {
		return errors.New("ca (TLS_CA) holds no certificate: the text of a PEM file is wanted")
	}
	switch {
	case !idKey.MatchString(o.ID):
		return fmt.Errorf("id %q is not the name of a field: letters, digits and _, with dots between nested ones (meta.id)", o.ID)
	case o.Senders < 1 || o.Senders > 10_000:
		return fmt.Errorf("senders %d is outside 1 to 10000", o.Senders)
	case o.InFlight < 1 || o.InFlight > 10_000:
		return fmt.Errorf("inFlight %d is outside 1 to 10000", o.InFlight)
	case o.SenderConnections < 1 || o.SenderConnections > 100:
		return fmt.Errorf("senderConnections %d is outside 1 to 100", o.SenderConnections)
	case o.Ingest.Retries < 0 || o.Ingest.Retries > 100:
		return fmt.Errorf("ingest.retries %d is outside 0 to 100", o.Ingest.Retries)
	case o.RunID != "" && !runID.MatchString(o.RunID):
		return fmt.Errorf("runId %q (RUN_ID) is the beginning of every id: 4 to 32 small letters and digits are allowed", o.RunID)
	case o.Gather <= 0:
		return errors.New("gather 0 (GATHER): a time above 0 is wanted")
	case o.Sampled < 0:
		return fmt.Errorf("sampled %d is below 0: one message in so many, or 0 for none", o.Sampled)
	case o.Sampled > 0 && o.Redis.URL == "":
		return errors.New("sampled is set, but there are no trace lists to read: redis.url (REDIS_URL) is missing")
	case o.Timeout <= 0:
		return errors.New("timeout 0: a time above 0 is wanted")
	case o.Clock.Limit != nil && *o.Clock.Limit == 0:
		return errors.New("clock.limit 0: a time above 0 is wanted")
	case o.Clock.Limit != nil && o.Redis.URL == "":
		return errors.New("clock.limit is set, but there is no clock to hold to it: redis.url (REDIS_URL) is missing")
	}
	for name, value := range o.Facts {
		switch value.(type) {
		case string, float64, bool:
		default:
			return fmt.Errorf("facts.%s is neither a text nor a number nor true or false", name)
		}
	}
	if o.Fuzz != nil {
		if size := o.EveryFlow["payloadBytes"]; size != nil && size != "" {
			return errors.New("everyFlow.payloadBytes and fuzz exclude each other: payloads are as long as the specification says")
		}
		if o.Fuzz.spec, err = fuzz.Parse(o.Fuzz.Spec); err != nil {
			return err
		}
	}
	if err := o.messages().Check(); err != nil {
		return err
	}
	if o.MQTT.Filter != "" && o.Canary {
		return errors.New("mqtt.filter is set, so it is not known where the canary arrives: canary: false")
	}
	if err := o.MQTT.Check(o.profile); err != nil {
		return err
	}
	if o.Publishers != nil {
		if err := o.Publishers.Check(o.profile, len(o.MQTT.More)); err != nil {
			return err
		}
	}
	if o.Queue != nil {
		if err := o.Queue.Check(o.profile); err != nil {
			return err
		}
		if o.Canary {
			return errors.New("queue is set, and the canary arrives by MQTT: canary: false")
		}
		if o.Publishers != nil {
			return errors.New("queue is where messages of an ingest arrive, and publishers have none: leave out one of them")
		}
	}
	if o.Protocol == "" {
		o.Protocol = "HTTP"
		if o.Publishers != nil {
			o.Protocol = "MQTT"
		}
	}
	if !wordLike.MatchString(o.Protocol) || len(o.Protocol) > protocolMax {
		return fmt.Errorf("protocol %q is what reports call the requests: up to %d letters, digits, _ and . are allowed", o.Protocol, protocolMax)
	}
	for name, value := range map[string]string{"name": o.Name, "topology": o.Topology, "network": o.Network} {
		if !wordLike.MatchString(value) {
			return fmt.Errorf("%s %q names the run's directory: letters, digits, _ and . are allowed", name, value)
		}
	}
	return nil
}

// messages are what the options say of them.
func (o *options) messages() body.Format {
	f := body.Format{Template: o.Body, ID: o.ID, Source: o.tool.Name}
	if o.Fuzz != nil {
		f.Fuzz, f.Seed = o.Fuzz.spec, o.Fuzz.Seed
	}
	return f
}

// same refuses a second run in one process: VUs share the schedule, so they must mean the same one.
func (e *engine) same(o *options) error {
	a, b := *e.options, *o
	a.profile, b.profile = nil, nil
	if !reflect.DeepEqual(a, b) {
		return errors.New("a second Run with other options: a script has one Run, made outside of its functions")
	}
	return nil
}
