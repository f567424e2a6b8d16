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

func sender(ctx context.Context, b *bench) ([]figure, error) {
	f := figure{limit: 0.4}
	in, err := b.startIngest(nil)
	if err != nil {
		return nil, err
	}
	http := func() (use, error) {
		p, err := b.k6("http.js", posted(in), "--summary-mode", "disabled")
		if err != nil {
			return use{}, err
		}
		return b.until(ctx, p, in)
	}
	profile := b.steady(flood)
	all, err := b.turns(senderRounds, "request", http, func() (use, error) { return b.sent(ctx, in, profile, false) })
	if err != nil {
		return nil, err
	}
	f.baseline = side{"k6/http", all.median(0, use.each), "µs"}
	f.ours = side{"run.send()", all.median(1, use.each), "µs"}
	f.ratio = all.ratio(cost)
	f.notes = append(f.notes, fmt.Sprintf("CPU a request of k6 with %d VUs, as fast as they go (%.0f and %.0f/s), one iteration and one call "+
		"from JavaScript for each on both sides; ours are all due before they are sent, are entered into the ledger, and arrive nowhere",
		connections, all.median(0, use.rate), all.median(1, use.rate)))
	return []figure{f}, nil
}

// senderRounds are those of the rows sender and ingest.
const senderRounds = 3

// pumpRounds are more, as that row's ratio is near its limit.
const pumpRounds = 7

const (
	// flood is more requests per second than k6 can send, so that none is ever waited for.
	flood = 150_000.0
	// paced is the part of wrk's rate that the pump has to keep to: little enough that it waits for each request to be due.
	paced = 0.65
)

// steady is a profile of so many requests per second, for longer than a measurement takes.
func (b *bench) steady(rate float64) string {
	return fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %.0f}]\nflows: [{name: one}]\n", b.long(), rate)
}

func pump(ctx context.Context, b *bench) ([]figure, error) {
	f := figure{limit: 2}
	in, err := b.startIngest(nil)
	if err != nil {
		return nil, err
	}
	rate := 0.0 // of the paced pump, from the last wrk before it: a machine that is slow for a while is slow for both
	wrk := func() (use, error) {
		p, err := b.wrk(in.url, connections)
		if err != nil {
			return use{}, err
		}
		u, err := b.until(ctx, p, in)
		rate = paced * u.rate()
		return u, err
	}
	var unpaced []use
	all, err := b.turns(pumpRounds, "request", wrk, func() (use, error) {
		u, err := b.sent(ctx, in, b.steady(flood), true)
		if err != nil {
			return u, err
		}
		unpaced = append(unpaced, u)
		return b.sent(ctx, in, b.steady(rate), true)
	})
	if err != nil {
		return nil, err
	}
	f.baseline = side{"wrk -t1 -c10", all.median(0, use.each), "µs"}
	f.ours = side{"run.pump()", all.median(1, use.each), "µs"}
	f.ratio = all.ratio(cost)
	f.notes = append(f.notes, fmt.Sprintf("CPU a request over %d connections to the same server; wrk cannot pace and goes as fast as it can "+
		"(%.0f/s), the pump sends each request when it is due (%.0f/s, %.0f %% of wrk's rate)",
		connections, all.median(0, use.rate), all.median(1, use.rate), 100*paced))
	fast := make(pairs, len(all))
	for i := range all {
		fast[i] = [2]use{all[i][0], unpaced[i]}
	}
	f.notes = append(f.notes, fmt.Sprintf("where all are due before they are sent, the pump takes %.2f µs at %.0f/s, a ratio of %.2f",
		fast.median(1, use.each), fast.median(1, use.rate), fast.ratio(cost)))
	return []figure{f}, nil
}

// wrk posts single messages as fast as it can.
func (b *bench) wrk(url string, connections int) (*process, error) {
	return b.wrkAs(token, url+"/messages", body, connections)
}

func (b *bench) wrkAs(token, url, body string, connections int) (*process, error) {
	return b.start("wrk", []string{"TOKEN=" + token, "BODY=" + body}, "wrk", "-t1", fmt.Sprintf("-c%d", connections),
		fmt.Sprintf("-d%.0fs", b.long()), "-s", "extensions/k6/cmd/bench/scripts/post.lua", url)
}

// sent is what k6 takes to send a profile over all connections.
func (b *bench) sent(ctx context.Context, in *ingest, profile string, pump bool) (use, error) {
	o, err := b.silent(in, profile)
	if err != nil {
		return use{}, err
	}
	o["senders"] = connections
	p, _, err := b.arrival(o, pump)
	if err != nil {
		return use{}, err
	}
	return b.until(ctx, p, in)
}

// until measures a program that posts, and ends it.
func (b *bench) until(ctx context.Context, p *process, in *ingest) (use, error) {
	defer p.kill()
	return b.observe(ctx, map[string]int{p.name: p.pid}, in.countRequests, p)
}

// long is more seconds than a measurement takes, for programs that want to be told.
func (b *bench) long() float64 { return (2*b.warmup + b.duration + 5*time.Second).Seconds() }

// silent are the options of a run that sends, and whose messages arrive nowhere: what is measured is the sending.
func (b *bench) silent(in *ingest, profile string) (options, error) {
	url, err := b.straight(ignore)
	return options{
		// In real time k6 would go before the server at each answer, and no two would ever be there at once; the baselines do not either.
		"profile": profile, "canary": false,
		"ingest": options{"url": in.url, "token": token}, "mqtt": options{"url": url, "qos": 0},
	}, err
}
