package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// The subscriber's load: 20,000 messages of 200 B per second through Mosquitto at QoS 0, 100 at a time.
const (
	messageRate  = 20_000
	messageBytes = 200
	batch        = 100
)

// overhead is the length of a message without its payload; most numbers of a run have 6 digits.
var overhead = len(`{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":""}`)

func batches(seconds float64, rate int) string {
	flow := fmt.Sprintf(", messages: %d, payloadBytes: %d", batch, messageBytes-overhead)
	return phase(seconds, float64(rate/batch), flow)
}

// subscriberRounds is small: each round makes four measurements.
const subscriberRounds = 2

// subscriber compares only the receiving. The native k6 also sends, because its ledger has to know what it expects.
// So the CPU of sending alone is measured too and subtracted, and for the handler the CPU of waiting.
func subscriber(b *bench) []figure {
	broker, clock := b.startMosquitto(), b.startRedis()
	var whole, sending []float64
	all := b.alternate(subscriberRounds, "message", func() use {
		fed := b.handler(broker, true)
		return fed.without(b.handler(broker, false))
	}, func() use {
		both, sends := b.native(broker, clock, true), b.native(broker, clock, false)
		whole, sending = append(whole, both.perItem()), append(sending, sends.perItem())
		return both.without(sends)
	})
	f := all.costs(0.2, "JS handler", "k6/x/arrival")
	f.note("CPU a message of k6 for receiving, at %d messages/s of %d B: without what it takes to send "+
		"them (ours: %.2f µs of %.2f) or to wait (the handler); ours is all of parsing, stages, ledger and histograms",
		messageRate, messageBytes, median(sending), median(whole))
	if rate := all.median(0, use.rate); rate < 0.95*messageRate {
		f.note("the JS handler took %.0f of %d messages/s: it fell behind", rate, messageRate)
	}
	return []figure{f}
}

// native measures k6 with the native instrument. Without receiving, its messages are counted and dropped.
func (b *bench) native(broker, clock *server, receiving bool) use {
	var out net.Conn
	mqtt := b.silentBroker()
	if receiving {
		_, out = b.connect(broker.mqtt(), "bench")
		mqtt = broker.mqtt()
	}
	in := b.startIngest(out)
	o := sending(batches(b.runSeconds(), messageRate), 4, in.url, token, mqtt)
	o["redis"] = options{"url": clock.redis()}
	p := b.arrival(o, true)
	u := b.observe(map[string]int{"k6": p.pid}, counting(&in.messages), p)
	if receiving {
		b.finish(p)
	} else {
		p.kill()
	}
	return u
}

// handler measures k6 with a message handler in JavaScript, which gets the load through the broker if fed.
func (b *bench) handler(broker *server, fed bool) use {
	_, conn := b.connect(broker.mqtt(), "bench")
	api := freeAddress()
	p := b.k6("handler.js", []string{"MQTT_URL=" + broker.mqtt()}, "--address", api, "--summary-mode", "disabled")
	defer p.kill()
	began := time.Now()
	count := func() (int64, error) { return int64(messageRate * time.Since(began).Seconds()), nil }
	feed, stop := context.WithCancel(b.ctx)
	defer stop()
	if fed {
		count = func() (int64, error) { return b.received(api) }
		go func() {
			defer stop()
			feedHandler(feed, conn)
		}()
	}
	u := b.observe(map[string]int{"k6": p.pid}, count, p)
	if feed.Err() != nil {
		must.Fail("mosquitto took no more messages")
	}
	return u
}

// feedHandler publishes the load of the handler until ctx ends or the broker takes no more.
func feedHandler(ctx context.Context, conn net.Conn) {
	var buf []byte
	ticks := time.NewTicker(time.Second / (messageRate / batch))
	defer ticks.Stop()
	for n := 0; ; n += batch {
		select {
		case <-ctx.Done():
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
}

// message makes a message for the handler: as long as the native ones, with the time that its latency starts at.
func message(n int, target []byte, at time.Time) []byte {
	head := fmt.Sprintf(`{"id":"01234567.1.%06d","source":"k6","target":"%s","at":%d,"payload":"`,
		n, target, at.UnixMilli())
	return []byte(head + strings.Repeat("x", max(0, messageBytes-len(head)-2)) + `"}`)
}

// received reads from k6 how many messages its handler got: what the broker sent may wait in a socket.
func (b *bench) received(api string) (int64, error) {
	status, body, err := b.get("http://" + api + "/v1/metrics/mqtt_messages_received")
	if err != nil || status != http.StatusOK {
		return 0, err // there is none before the first message
	}
	var metric struct {
		Data struct {
			Attributes struct{ Sample struct{ Count float64 } }
		}
	}
	err = json.Unmarshal(body, &metric)
	return int64(metric.Data.Attributes.Sample.Count), err
}

const (
	memoryLimit = 150.0  // MB
	memoryRate  = 50_000 // messages per second
)

func memory(b *bench) []figure {
	in := b.startIngest(nil)
	o := sending(batches(float64(b.messages)/memoryRate, memoryRate), 4, in.url, token, b.directBroker(in.forwardTo))
	o["redis"] = options{"url": b.startRedis().redis()}
	p := b.arrival(o, true)
	for !p.endsWithin(b.ctx, 10*time.Second) {
		b.say("%d messages, load average %s", in.messages.Load(), loadAverage())
	}
	arrived := b.finish(p)
	peak := float64(must.Get(peakOf(p))) / (1 << 20)
	b.say("%d messages measured, %.0f MB at most, load average %s", arrived, peak, loadAverage())
	f := atMost(memoryLimit, "k6", peak, "MB")
	f.note("peak resident memory of k6 in a run of %d measured messages, its summary included; MB of 1024² bytes",
		arrived)
	return []figure{f}
}
