package engine

import (
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fuzz"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

var (
	idKey    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	runID    = regexp.MustCompile(`^[a-z0-9]{4,32}$`)
	wordLike = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)
)

// protocolMax is the longest name of a protocol: tables have it in their heads.
const protocolMax = 16

// tracesMost bounds the file of traces to some 20 MB.
const tracesMost = 10_000

// check parses the profile and checks all options. The error names the option, its value and what is allowed.
func (o *Options) check() error {
	for _, wrong := range []func() error{o.checkLoad, o.checkAddresses, o.checkNumbers, o.checkSpans, o.checkMessages,
		o.checkSource, o.checkQuestion, o.checkNames} {
		if err := wrong(); err != nil {
			return err
		}
	}
	o.limitSenders()
	return nil
}

// checkLoad parses the profile and applies its overrides.
func (o *Options) checkLoad() (err error) {
	if o.profile, err = profile.Parse(o.Profile.Name, o.Profile.Text); err != nil {
		return err
	}
	for _, phase := range sortedKeys(o.Phases) {
		if err := o.profile.Override(phase, o.Phases[phase]); err != nil {
			return err
		}
	}
	if err := o.profile.ReplaceFlows(o.Flows); err != nil {
		return err
	}
	return o.profile.OverrideFlows(o.EveryFlow)
}

func (o *Options) checkAddresses() error {
	if err := o.Ingest.Check(); err != nil {
		return err
	}
	for _, f := range o.profile.Flows {
		if strings.Contains(o.Ingest.Path, send.Target) && f.Messages > 1 {
			return fmt.Errorf("ingest.path (INGEST_PATH) has %s, and the messages of a request have several: "+
				"flow %q has %d messages, 1 is allowed",
				send.Target, f.Name, f.Messages)
		}
	}
	if o.Redis.URL != "" {
		if _, _, err := store.Parse(o.Redis.URL); err != nil {
			return fmt.Errorf("redis.url (REDIS_URL): %w", err)
		}
	} else if o.Redis.Prefix != "" {
		return errors.New("redis.prefix (QUEUE_PREFIX) is set, but there are no keys to look for: " +
			"redis.url (REDIS_URL) is missing")
	}
	if err := store.CheckPrefix(o.Redis.Prefix, "redis.prefix"); err != nil {
		return err
	}
	if at, isURL := strings.CutPrefix(o.Runs, "file://"); isURL {
		var err error
		if o.Runs, err = url.PathUnescape(at); err != nil {
			return fmt.Errorf("runs is not a file:// URL: %w; allowed: a path, or a URL in which %% is %%25", err)
		}
	}
	if o.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(o.CA)) {
		return errors.New("ca (TLS_CA) holds no certificate; allowed: the text of a PEM file")
	}
	return nil
}

func (o *Options) checkNumbers() error {
	switch {
	case !idKey.MatchString(o.ID):
		return fmt.Errorf("id %q is not the name of a field: letters, digits and _, "+
			"with dots between nested ones (meta.id)", o.ID)
	case o.Senders < 1 || o.Senders > runfile.SendersMost:
		return fmt.Errorf("senders %d is outside 1 to %d", o.Senders, runfile.SendersMost)
	case o.MaxSenders < 0 || o.MaxSenders > runfile.SendersMost:
		return fmt.Errorf("maxSenders %d (SENDERS) is outside 1 to %d", o.MaxSenders, runfile.SendersMost)
	case o.MaxSenders > 0 && o.profile.Closed():
		return errors.New("maxSenders (SENDERS) is for the open model, and the phases of this profile say how many " +
			"send (vus): leave it out")
	case o.MaxSenders > 0 && o.Publishers != nil:
		return errors.New("maxSenders (SENDERS) is for requests, and publishers.connections send here: leave it out")
	case o.InFlight < 1 || o.InFlight > 10_000:
		return fmt.Errorf("inFlight %d is outside 1 to 10000", o.InFlight)
	case o.SenderConnections < 1 || o.SenderConnections > 100:
		return fmt.Errorf("senderConnections %d is outside 1 to 100", o.SenderConnections)
	case o.Ingest.Retries < 0 || o.Ingest.Retries > 100:
		return fmt.Errorf("ingest.retries %d is outside 0 to 100", o.Ingest.Retries)
	case o.RunID != "" && !runID.MatchString(o.RunID):
		return fmt.Errorf("runId %q (RUN_ID) is the beginning of every id: "+
			"4 to 32 small letters and digits are allowed", o.RunID)
	case o.Gather <= 0:
		return errors.New("gather 0 (GATHER): must be a time above 0")
	case o.Sampled < 0:
		return fmt.Errorf("sampled %d is below 0: one message in so many, or 0 for none", o.Sampled)
	case o.Sampled > 0 && o.Redis.URL == "":
		return errors.New("sampled is set, but there are no trace lists to read: redis.url (REDIS_URL) is missing")
	case o.Traces < 0 || o.Traces > tracesMost:
		return fmt.Errorf("traces %d (TRACES) is outside 0 to %d", o.Traces, tracesMost)
	case o.Timeout <= 0:
		return errors.New("timeout 0: must be a time above 0")
	case o.Clock.Limit != nil && *o.Clock.Limit == 0:
		return errors.New("clock.limit 0: must be a time above 0")
	case o.Clock.Limit != nil && o.Redis.URL == "":
		return errors.New("clock.limit is set, but there is no clock to hold to it: redis.url (REDIS_URL) is missing")
	}
	return nil
}

func (o *Options) checkMessages() (err error) {
	if o.Fuzz != nil {
		if size := o.EveryFlow["payloadBytes"]; size != nil && size != "" {
			return errors.New("everyFlow.payloadBytes and fuzz exclude each other: " +
				"payloads are as long as the specification says")
		}
		if o.Fuzz.spec, err = fuzz.Parse(o.Fuzz.Spec); err != nil {
			return err
		}
	}
	if o.Body != "" && o.ID != defaults().ID {
		return fmt.Errorf("id (ID_KEY) is of the message that is made without body (BODY), which has {{id}} where it "+
			"belongs: leave out id, %q", o.ID)
	}
	for _, column := range sortedKeys(o.Rows) {
		for _, f := range o.profile.Flows {
			if n := len(o.Rows[column]); n != f.Targets {
				return fmt.Errorf("rows.%s has %d values, and flow %q has %d targets: one for each is allowed", column, n,
					f.Name, f.Targets)
			}
		}
	}
	if o.form, err = body.CheckForm(o.IDFormat); err != nil {
		return err
	}
	if o.ids, err = body.ParseFrom(o.IDFrom); err != nil {
		return err
	}
	return o.messages().Check()
}

// checkNames checks the names of reports and directories.
func (o *Options) checkNames() error {
	if o.Protocol == "" {
		o.Protocol = "HTTP"
		if o.Publishers != nil {
			o.Protocol = "MQTT"
		}
	}
	if !wordLike.MatchString(o.Protocol) || len(o.Protocol) > protocolMax {
		return fmt.Errorf("protocol %q is what reports call the requests: up to %d letters, "+
			"digits, _ and . are allowed", o.Protocol, protocolMax)
	}
	for _, part := range []struct{ option, value string }{
		{"name", o.Name}, {"topology", o.Topology}, {"network", o.Network},
	} {
		if !wordLike.MatchString(part.value) {
			return fmt.Errorf("%s %q names the run's directory: letters, digits, _ and . are allowed", part.option,
				part.value)
		}
	}
	for _, name := range sortedKeys(o.Facts) {
		switch o.Facts[name].(type) {
		case string, float64, bool:
		default:
			return fmt.Errorf("facts.%s is neither a text nor a number nor true or false", name)
		}
	}
	return nil
}

// spareFiles is the number of files that a process opens besides its connections: standard streams, the run's files,
// Redis, DNS, the canary.
const spareFiles = 64

// sendersUsual is the limit of the senders where a script sets none. The ingest of this repository takes 4,096
// connections, and the canary has one.
const sendersUsual = 4000

// bodiesMost bounds the bytes that the senders keep, and bodyLeast is what one keeps of small requests.
const (
	bodiesMost = 1 << 30
	bodyLeast  = 4 << 10
)

// mostSenders is how many requests all instances together may have under way: maxSenders, or what the busiest phase of
// the open model needs if each request takes its whole time-out, up to sendersUsual, and to what memory and
// the files allow that this process may open.
func (o *Options) mostSenders(files uint64) int {
	least := o.Senders * o.InFlight
	switch {
	case o.profile.Closed() || o.Publishers != nil:
		return least
	case o.MaxSenders > 0:
		return o.MaxSenders
	}
	largest := bodyLeast
	for _, f := range o.profile.Flows {
		largest = max(largest, f.Messages*f.PayloadBytes)
	}
	most := int(min(sendersUsual, math.Ceil(o.profile.Peak()*o.Timeout.duration().Seconds())))
	most = min(most, bodiesMost/(2*largest)) // a sender keeps a body and the request around it
	others := uint64(max(o.profile.Subscribers(), o.from.Connections) + o.from.Files + spareFiles)
	return max(least, min(most, int(min(files-min(files, others), sendersUsual))))
}

// limitSenders holds the senders that a run begins with to maxSenders.
func (o *Options) limitSenders() {
	if o.MaxSenders > 0 {
		o.InFlight = min(o.InFlight, o.MaxSenders)
		o.Senders = min(o.Senders, o.MaxSenders/o.InFlight)
	}
}

// checkFiles refuses a run that needs more connections than this process may open files, before anything is
// connected.
func (o *Options) checkFiles(part segment.Segment, limit uint64) error {
	senders := max(o.Senders*o.InFlight, o.MaxSenders)
	role := "senders"
	switch {
	case o.Publishers != nil:
		senders, role = o.Publishers.Connections, "publishers"
	case o.profile.Closed():
		senders = o.profile.Most()
	}
	senders, each := part.Scale(senders), ""
	connections := senders
	if o.SenderConnections > 1 {
		connections, each = senders*o.SenderConnections, fmt.Sprintf(" with %d connections each", o.SenderConnections)
	}
	subscribers := max(o.profile.Subscribers(), o.from.Connections)
	if needed := uint64(connections + subscribers + o.from.Files + spareFiles); needed > limit {
		return fmt.Errorf("%d %s%s and %d subscribers need %d open files, and this process may have %d: "+
			"ulimit -n %d, or fewer of them",
			senders, role, each, subscribers, needed, limit, needed)
	}
	return nil
}
