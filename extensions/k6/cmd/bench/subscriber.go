package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// The subscriber's load: 20,000 messages of 200 B per second through Mosquitto at QoS 0, 100 at a time.
const (
	messageRate  = 20_000
	messageBytes = 200
	batch        = 100
)

// overhead is the length of a message without its payload, with the 6 digits that most numbers of a run have.
var overhead = len(`{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":""}`)

// batches is a profile of so many messages per second.
func batches(seconds float64, rate int) string {
	return fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %d}]\n"+
		"flows: [{name: batch, messages: %d, payloadBytes: %d}]\n", seconds, rate/batch, batch, messageBytes-overhead)
}

// subscriberRounds are few, as four measurements are made in each.
const subscriberRounds = 2

// subscriber compares receiving alone. One process sends and receives here, since its ledger has to know what it waits for; so what
// sending takes is measured by itself and taken off, as is what k6 takes that waits for a handler's messages.
func subscriber(ctx context.Context, b *bench) ([]figure, error) {
	f := figure{limit: 0.2}
	address, err := b.startMosquitto(ctx)
	if err != nil {
		return nil, err
	}
	clock, err := b.startRedis(ctx)
	if err != nil {
		return nil, err
	}
	var whole, sending []float64
	handler := func() (use, error) {
		u, err := b.handler(ctx, address, true)
		if err != nil {
			return u, err
		}
		rest, err := b.handler(ctx, address, false)
		return u.without(rest), err
	}
	native := func() (use, error) {
		u, err := b.native(ctx, address, clock, true)
		if err != nil {
			return u, err
		}
		rest, err := b.native(ctx, address, clock, false)
		whole, sending = append(whole, u.each()), append(sending, rest.each())
		return u.without(rest), err
	}
	all, err := b.turns(subscriberRounds, "message", handler, native)
	if err != nil {
		return nil, err
	}
	f.baseline = side{"JS handler", all.median(0, use.each), "µs"}
	f.ours = side{"k6/x/arrival", all.median(1, use.each), "µs"}
	f.ratio = all.ratio(cost)
	f.notes = append(f.notes, fmt.Sprintf("CPU a message of k6 for receiving, at %d messages/s of %d B: without what it takes to send "+
		"them (ours: %.2f µs of %.2f) or to wait (the handler); ours is all of parsing, stages, ledger and histograms",
		messageRate, messageBytes, median(sending), median(whole)))
	if rate := all.median(0, use.rate); rate < 0.95*messageRate {
		f.notes = append(f.notes, fmt.Sprintf("the JS handler took %.0f of %d messages/s: it fell behind", rate, messageRate))
	}
	return []figure{f}, nil
}

// native measures k6 with the native instrument. Without receiving, what it sends goes nowhere.
func (b *bench) native(ctx context.Context, address, clock string, receiving bool) (use, error) {
	var out net.Conn
	url := "mqtt://" + address
	var err error
	if receiving {
		out, err = b.connectPublisher(address)
	} else {
		url, err = b.straight(ignore)
	}
	if err != nil {
		return use{}, err
	}
	in, err := b.startIngest(out)
	if err != nil {
		return use{}, err
	}
	p, dir, err := b.arrival(options{
		"profile": batches((b.warmup + b.duration + time.Second).Seconds(), messageRate), "senders": 4, "canary": false,
		"ingest": options{"url": in.url, "token": token}, "mqtt": options{"url": url, "qos": 0},
		"redis": options{"url": clock},
	}, true)
	if err != nil {
		return use{}, err
	}
	if !receiving {
		defer p.kill()
	}
	u, err := b.observe(ctx, map[string]int{"k6": p.pid}, in.countMessages, p)
	if err == nil && receiving {
		_, err = finish(ctx, p, dir)
	}
	return u, err
}

// handler measures k6 with a message handler in JavaScript, fed straight through the broker, or not fed.
func (b *bench) handler(ctx context.Context, address string, fed bool) (use, error) {
	conn, err := b.connectPublisher(address)
	if err != nil {
		return use{}, err
	}
	api, err := freeAddress()
	if err != nil {
		return use{}, err
	}
	p, err := b.k6("handler.js", map[string]string{"MQTT_URL": "mqtt://" + address},
		"--address", api, "--summary-mode", "disabled")
	if err != nil {
		return use{}, err
	}
	defer p.kill()
	if !fed {
		began := time.Now()
		elapsed := func() (int64, error) { return int64(messageRate * time.Since(began).Seconds()), nil }
		return b.observe(ctx, map[string]int{"k6": p.pid}, elapsed, p)
	}
	feed, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		var buf []byte
		ticks := time.NewTicker(time.Second / (messageRate / batch))
		defer ticks.Stop()
		for n := 0; ; n += batch {
			select {
			case <-feed.Done():
				return
			case now := <-ticks.C:
				buf = buf[:0]
				for i := range batch {
					target := fmt.Appendf(nil, "user/%02d", i)
					buf = appendPublish(buf, target, message(n+i, target, now), now)
				}
				if _, err := conn.Write(buf); err != nil {
					return
				}
			}
		}
	}()
	u, err := b.observe(ctx, map[string]int{"k6": p.pid}, func() (int64, error) { return received(ctx, api) }, p)
	if err == nil && feed.Err() != nil {
		err = errors.New("mosquitto took no more messages")
	}
	return u, err
}

// message is one for the handler, as long as the native ones and with the time that its latency is from.
func message(n int, target []byte, at time.Time) []byte {
	head := fmt.Sprintf(`{"id":"01234567.1.%06d","source":"k6","target":"%s","at":%d,"payload":"`, n, target, at.UnixMilli())
	return []byte(head + strings.Repeat("x", max(0, messageBytes-len(head)-2)) + `"}`)
}

// received asks k6 how many messages its handler was given: what a broker has sent may lie in a socket for long.
func received(ctx context.Context, api string) (int64, error) {
	answer, err := get(ctx, "http://"+api+"/v1/metrics/mqtt_messages_received")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var metric struct {
		Data struct {
			Attributes struct{ Sample struct{ Count float64 } }
		}
	}
	if answer.StatusCode != http.StatusOK {
		return 0, nil // there is none before the first message
	}
	if err := json.NewDecoder(answer.Body).Decode(&metric); err != nil {
		return 0, fmt.Errorf("k6's metrics: %w", err)
	}
	return int64(metric.Data.Attributes.Sample.Count), nil
}
