package arrival

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

const (
	// lead is the time between the last subscription and the first request.
	lead = 250 * time.Millisecond
	// linger is how long duplicates are waited for after everything is in.
	linger = 250 * time.Millisecond
	// look is how often the ledger is asked whether everything is in.
	look = 20 * time.Millisecond
	// tick is the length of an interval of the timeline.
	tick = time.Second
	// checkpoint is how often the report of a run that goes on is written anew, at most.
	checkpoint = 5 * time.Second
)

// collect is the life of a run: subscribe, let the senders go, watch, wait until everything is in, look for what is not,
// and close the account. An error means that the run could not begin, or that it was stopped.
func (e *engine) collect(ctx context.Context, state *lib.State, m *runMetrics) error {
	e.mu.Lock()
	again := e.collected
	e.collected = true
	e.mu.Unlock()
	if again {
		return errors.New("collect() runs once in a run: give its scenario one VU and one iteration")
	}

	if err := e.segment.inEffect(state.Options); err != nil {
		return err
	}
	client, err := e.connectRedis(ctx, state)
	if err != nil {
		return err
	}
	if client != nil {
		defer e.keepTime(ctx, client)()
	}
	subs, err := e.subscribe(ctx, state, m.latency)
	if err != nil {
		return err
	}
	defer e.pending.end(ctx, state)
	defer subs.close()
	if e.options.Canary {
		if e.canary, err = e.newCanary(ctx, state); err != nil {
			return err
		}
		defer e.canary.close()
	}
	if err := e.setStart(ctx, client); err != nil {
		return err
	}
	if err := e.makeDir(); err != nil {
		return err
	}

	rec, err := newRecorder(e)
	if err != nil {
		return err
	}
	defer rec.close()
	tending, leave := context.WithCancel(ctx)
	defer leave()
	go e.gate.tend(tending)
	e.start()
	if e.pacer.Closed() {
		go e.lead(tending)
	}
	if e.canary != nil {
		e.canary.fly(ctx)
	}
	if err := e.watch(ctx, subs, rec); err != nil {
		return err
	}
	if e.canary != nil {
		e.canary.settle(ctx)
	}
	if client != nil && e.ledger.Open() > 0 {
		// While the subscribers still read: what leaves the queue now is on its way to them.
		e.find(ctx, client)
		sleepUntil(ctx, nil, time.Now().Add(linger))
	}
	subs.close()
	e.pending.end(ctx, state)
	rec.cut()
	rec.close()
	if client != nil {
		e.readTelemetry(ctx, client)
	}
	e.judge(rec)

	e.mu.Lock()
	e.resources = append(e.resources, rec.generator())
	e.ended, e.finished = time.Now(), true
	e.mu.Unlock()
	m.push(ctx, state, e)
	return e.write(nil) // the script's summary writes it again, with the thresholds
}

// setStart says when the schedule begins: soon, or when all instances of the run have met.
func (e *engine) setStart(ctx context.Context, client *redis.Client) error {
	if e.segment == nil {
		e.epoch = time.Now().Add(lead)
		return nil
	}
	start, err := e.meet(ctx, client)
	if err != nil {
		return err
	}
	e.epoch = e.clock.Time(start + e.clock.Back()(start))
	late := time.Since(e.epoch)
	if late > lateLimit {
		return fmt.Errorf("%s comes %.0f s after the start of the run %s: too late to take part", e.segment, late.Seconds(), e.id)
	}
	e.met = e.segment.describe(start, float64(max(0, late).Microseconds())/1000)
	return nil
}

// seqOf finds the number of a message of this instance in it.
func (e *engine) seqOf(payload []byte) (seq int, ok bool) {
	id, ok := e.bodies.seq(payload)
	if !ok {
		return 0, false
	}
	return e.pacer.SeqOf(id)
}

// connectRedis connects to the Redis that is the clock of the run, and takes the first estimate. It returns nil where the
// run has none: then the pipeline's stamps are left aside, and only this process's own clock counts.
func (e *engine) connectRedis(ctx context.Context, state *lib.State) (*redis.Client, error) {
	if e.options.Redis.URL == "" {
		return nil, nil
	}
	o, err := redis.ParseURL(e.options.Redis.URL)
	if err != nil {
		return nil, fmt.Errorf("redis.url (REDIS_URL): %w", withoutURL(err))
	}
	o.Dialer = state.Dialer.DialContext
	o.DialTimeout = cmp.Or(o.DialTimeout, redisPatience)
	if secure := o.TLSConfig; secure != nil { // rediss: go-redis leaves it to the dialer
		own := e.trust.config(state)
		own.ServerName = secure.ServerName
		o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := state.Dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
			encrypted := tls.Client(conn, own)
			if err := encrypted.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return encrypted, nil
		}
	}
	o.MaxRetries = -1
	o.DisableIdentity = true
	client := redis.NewClient(o)
	if err := e.clock.Probe(ctx, client); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("redis %s can't be used as the run's clock (REDIS_URL): %w", o.Addr, advise(err))
	}
	return client, nil
}

// keepTime asks Redis for the time, again and again, until the function that it returns is called. That one closes the client.
func (e *engine) keepTime(ctx context.Context, client *redis.Client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		period := time.NewTicker(clock.Period)
		defer period.Stop()
		for {
			select {
			case <-period.C:
				_ = e.clock.Probe(ctx, client) // a failed probe leaves the estimate as it was; its bound grows
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		_ = client.Close()
	}
}

// redisPatience is how long a connection to Redis may take, unless its URL says it.
const redisPatience = 5 * time.Second

// watch returns when everything is in, when nothing has come for the idle time, or at the drain limit.
func (e *engine) watch(ctx context.Context, subs *subscribers, rec *recorder) error {
	looks := time.NewTicker(look)
	defer looks.Stop()
	nextCut := e.epoch.Add(tick)
	lastMove, lastSeen := time.Now(), -1 // the latest delivery in the drain
	var settledAt, completeAt time.Time
	halted, over := false, false
	halt := func(format string, args ...any) {
		if !halted {
			halted = true
			close(e.halted)
			e.distrust(format, args...)
		}
	}
	quiet := 0 // looks in a row of the drain at which nothing had arrived
	alone := 0 // looks in a row at which nobody took what was long due
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-subs.failed:
			halt("a subscriber lost its connection, so the rest of the load was not sent: %s", err)
		case now := <-looks.C:
			e.pending.flush(ctx, subs.state)
			if !now.Before(nextCut) {
				nextCut = nextCut.Add(tick)
				rec.cut()
				rec.checkpoint()
			}
			e.noteBacklogs(now)
			if alone++; !e.abandoned(now) {
				alone = 0
			}
			if alone == aloneMost {
				halt("the senders have taken %d of %d requests and no more for %.0f s: does the script's sender throw? k6's log says it",
					e.next.Load(), e.pacer.Requests(), lateLimit.Seconds())
			}
			if e.pacer.Closed() && over {
				e.ledger.End()
			}
			over = e.turn.Load().over // at the next look what was taken before has been sent
			if !e.ledger.Settled() && (!halted || e.ledger.InFlight() > 0) {
				continue
			}
			if settledAt.IsZero() {
				settledAt, lastMove = now, now
			}
			if quiet++; e.ledger.Deliveries() != lastSeen {
				lastSeen, lastMove, quiet = e.ledger.Deliveries(), now, 0
			}
			if e.ledger.Open() == 0 {
				if completeAt.IsZero() {
					completeAt = now
				}
				if now.Sub(completeAt) >= linger && quiet >= quietLeast {
					return nil
				}
				continue
			}
			idle := now.Sub(lastMove) >= e.options.Idle.duration() && quiet >= quietLeast
			if idle || now.Sub(settledAt) >= e.options.Drain.duration() {
				return nil
			}
		}
	}
}

// A process that stood still has its looks and its subscribers' messages before it at once: time alone does not tell that none come.
const (
	quietLeast = 5
	aloneMost  = 50
)

// abandoned reports whether the next request of the schedule is so late that it will not be sent any more, and nobody is at work who
// would take it. Such a run went on until k6 ended it, after all of its time.
func (e *engine) abandoned(now time.Time) bool {
	n := int(e.next.Load())
	return !e.pacer.Closed() && n < e.pacer.Requests() && e.ledger.InFlight() == 0 &&
		now.Sub(e.epoch.Add(e.pacer.Slot(n).Due)) > lateLimit
}

// errStopped means that k6 ended the subscriber's iteration before the run was over.
var errStopped = errors.New("the run was stopped before everything was in")

// Keys of the pipeline. A pipeline that has others is measured all the same; its queued messages then count as lost.
const (
	messageStream    = "arrival:messages"
	messageList      = "arrival:list" // with QUEUE=list
	deadLetterStream = "arrival:dead-letters"
	telemetryStream  = "arrival:telemetry"
)

// find looks for the messages that did not arrive in the queue, and then among the dead letters: in this order none can
// move from the one to the other unseen.
func (e *engine) find(ctx context.Context, client *redis.Client) {
	note := func(frame string, fate ledger.Fate) {
		if seq, ok := e.seqOf([]byte(bodyOf(frame))); ok {
			e.ledger.Find(seq, fate)
		}
	}
	stream := func(key string, fate ledger.Fate) error {
		return scan(ctx, client, key, "-", func(entry redis.XMessage) {
			if frame, ok := entry.Values["frame"].(string); ok {
				note(frame, fate)
			}
		})
	}
	for _, place := range []struct {
		key  string
		look func() error
	}{
		{messageStream, func() error { return stream(messageStream, ledger.Queued) }},
		{messageList, func() error {
			return scanList(ctx, client, messageList, func(frame string) { note(frame, ledger.Queued) })
		}},
		{deadLetterStream, func() error { return stream(deadLetterStream, ledger.DeadLettered) }},
	} {
		if err := place.look(); err != nil {
			e.distrust("%s could not be read in Redis, so what is missing could not be looked for: %s", place.key, err)
		}
	}
}

// bodyOf is the third part of a frame, "<target>\n<stamps>\n<body>" (pipeline/queue/frame.ts).
func bodyOf(frame string) string {
	_, rest, _ := strings.Cut(frame, "\n")
	_, body, _ := strings.Cut(rest, "\n")
	return body
}

// scanList reads a list from its newest element to its oldest. What is taken from its end meanwhile was not missing.
func scanList(ctx context.Context, client *redis.Client, key string, read func(string)) error {
	const batch = 1000
	for from := int64(0); ; from += batch {
		frames, err := client.LRange(ctx, key, from, from+batch-1).Result()
		if err != nil {
			return err
		}
		for _, frame := range frames {
			read(frame)
		}
		if len(frames) < batch {
			return nil
		}
	}
}

// scan reads a stream from an id to its end.
func scan(ctx context.Context, client *redis.Client, stream, from string, read func(redis.XMessage)) error {
	const batch = 1000
	for {
		entries, err := client.XRangeN(ctx, stream, from, "+", batch).Result()
		if err != nil {
			return err
		}
		for _, entry := range entries {
			read(entry)
		}
		if len(entries) < batch {
			return nil
		}
		from = "(" + entries[len(entries)-1].ID
	}
}
