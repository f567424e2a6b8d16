package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// connections is how many requests are under way at a time.
const connections = 10

// body is a request as the native sender makes it, for those who send the same one again and again.
var body = `{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":"` + strings.Repeat("x", 64) + `"}`

// posted is the environment of the baselines.
func posted(in *ingest) map[string]string {
	return map[string]string{"URL": in.url + "/messages", "TOKEN": token, "BODY": body, "VUS": fmt.Sprint(connections)}
}

func sender(ctx context.Context, b *bench) (figure, error) {
	f := figure{limit: 0.4}
	in, err := b.startIngest(nil)
	if err != nil {
		return f, err
	}
	p, err := b.k6("http.js", posted(in), "--summary-mode", "disabled")
	if err != nil {
		return f, err
	}
	k6http, err := b.observe(ctx, map[string]int{"k6": p.pid}, in.countRequests, p)
	if err != nil {
		return f, err
	}
	p.kill()
	f.baseline = side{"k6/http", k6http.each(), "µs"}
	b.say("k6/http: %.2f µs CPU a request at %.0f/s, load average %s", k6http.each(), k6http.rate(), loadAverage())

	seconds := (2*b.warmup + b.duration + 5*time.Second).Seconds()
	profile := fmt.Sprintf("phases: [{name: load, duration: %g, vus: %d}]\nflows: [{name: one}]\n", seconds, connections)
	o, err := b.silent(in, profile)
	if err != nil {
		return f, err
	}
	if p, _, err = b.arrival(o, false); err != nil {
		return f, err
	}
	send, err := b.observe(ctx, map[string]int{"k6": p.pid}, in.countRequests, p)
	if err != nil {
		return f, err
	}
	p.kill()
	f.ours = side{"run.send()", send.each(), "µs"}
	f.ratio = send.each() / k6http.each()
	b.say("run.send(): %.2f µs CPU a request at %.0f/s, load average %s", send.each(), send.rate(), loadAverage())
	f.notes = append(f.notes, fmt.Sprintf("CPU a request of k6 with %d VUs, as fast as they go; messages are sent and entered into "+
		"the ledger, and arrive nowhere", connections))
	return f, nil
}

func pump(ctx context.Context, b *bench) (figure, error) {
	f := figure{limit: 1.5}
	in, err := b.startIngest(nil)
	if err != nil {
		return f, err
	}
	env := []string{"TOKEN=" + token, "BODY=" + body}
	duration := fmt.Sprintf("%.0fs", (2*b.warmup + b.duration + 5*time.Second).Seconds())
	p, err := b.start("wrk", env, "wrk", "-t1", fmt.Sprintf("-c%d", connections), "-d"+duration,
		"-s", "extensions/k6/cmd/bench/scripts/post.lua", in.url+"/messages")
	if err != nil {
		return f, err
	}
	wrk, err := b.observe(ctx, map[string]int{"wrk": p.pid}, in.countRequests, p)
	if err != nil {
		return f, err
	}
	p.kill()
	f.baseline = side{"wrk -t1 -c10", wrk.each(), "µs"}
	b.say("wrk: %.2f µs CPU a request at %.0f/s, load average %s", wrk.each(), wrk.rate(), loadAverage())

	rate := int(wrk.rate() / 2)
	sent, err := b.paced(ctx, in, rate, false)
	if err != nil {
		return f, err
	}
	b.say("run.send(): %.2f µs CPU a request at %.0f/s, load average %s", sent.each(), sent.rate(), loadAverage())
	pumped, err := b.paced(ctx, in, rate, true)
	if err != nil {
		return f, err
	}
	f.ours = side{"run.pump()", pumped.each(), "µs"}
	f.ratio = pumped.each() / wrk.each()
	b.say("run.pump(): %.2f µs CPU a request at %.0f/s, load average %s", pumped.each(), pumped.rate(), loadAverage())
	f.notes = append(f.notes, fmt.Sprintf("CPU a request over %d connections; wrk as fast as it goes (%.0f/s), the pump paced at half "+
		"of that (%d/s, sent %.0f/s)", connections, wrk.rate(), rate, pumped.rate()))
	f.notes = append(f.notes, fmt.Sprintf("at the same pace run.send() takes %.1f µs (%.0f/s): the pump's CPU a request is %.2f of that",
		sent.each(), sent.rate(), pumped.each()/sent.each()))
	return f, nil
}

// paced measures k6 in the open model.
func (b *bench) paced(ctx context.Context, in *ingest, rate int, pump bool) (use, error) {
	seconds := (b.warmup + b.duration + 5*time.Second).Seconds()
	profile := fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %d}]\nflows: [{name: one}]\n", seconds, rate)
	o, err := b.silent(in, profile)
	if err != nil {
		return use{}, err
	}
	o["senders"] = connections
	p, _, err := b.arrival(o, pump)
	if err != nil {
		return use{}, err
	}
	u, err := b.observe(ctx, map[string]int{"k6": p.pid}, in.countRequests, p)
	p.kill()
	return u, err
}

// silent are the options of a run that sends, and whose messages arrive nowhere: what is measured is the sending.
func (b *bench) silent(in *ingest, profile string) (options, error) {
	url, err := b.straight(ignore)
	return options{
		"profile": profile, "canary": false,
		"ingest": options{"url": in.url, "token": token}, "mqtt": options{"url": url, "qos": 0},
	}, err
}
