package main

import (
	"fmt"
	"strings"
)

// connections is how many requests are in flight.
const connections = 10

// body is a request like the native sender's, for senders that repeat one request.
var body = `{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":"` + strings.Repeat("x", 64) + `"}`

func sender(b *bench) []figure {
	in := b.startIngest(nil)
	http := func() use {
		vus := fmt.Sprint("VUS=", connections)
		env := []string{"URL=" + in.url + "/messages", "TOKEN=" + token, "BODY=" + body, vus}
		return b.until(b.k6("http.js", env, "--summary-mode", "disabled"), in)
	}
	all := b.alternate(senderRounds, "request", http, func() use { return b.sent(in, flood, false) })
	f := all.costs(0.4, "k6/http", "run.send()")
	f.note("CPU a request of k6 with %d VUs, as fast as they go (%.0f and %.0f/s), one iteration and one call "+
		"from JavaScript for each on both sides; ours are all due before they are sent, "+
		"are entered into the ledger, and arrive nowhere",
		connections, all.median(0, use.rate), all.median(1, use.rate))
	return []figure{f}
}

const (
	senderRounds = 3
	// pumpRounds is larger because the row's ratio is near its limit.
	pumpRounds = 7
	// flood is more requests per second than k6 can send: it never waits for one to be due.
	flood = 150_000.0
	// paced is the share of wrk's rate that the pump keeps to: at this rate it waits until each request is due.
	paced = 0.65
)

func pump(b *bench) []figure {
	in := b.startIngest(nil)
	rate := 0.0 // of the paced pump, from the latest wrk: a machine that is slow for a while slows both
	var fast pairs
	all := b.alternate(pumpRounds, "request", func() use {
		u := b.until(b.wrk(in.url+"/messages"), in)
		rate = paced * u.rate()
		return u
	}, func() use {
		fast = append(fast, [2]use{1: b.sent(in, flood, true)})
		return b.sent(in, rate, true)
	})
	for i := range fast {
		fast[i][0] = all[i][0]
	}
	f := all.costs(2, "wrk -t1 -c10", "run.pump()")
	f.note("CPU a request over %d connections to the same server; wrk cannot pace and goes as fast as it can "+
		"(%.0f/s), the pump sends each request when it is due (%.0f/s, %.0f %% of wrk's rate)",
		connections, all.median(0, use.rate), all.median(1, use.rate), 100*paced)
	f.note("where all are due before they are sent, the pump takes %.2f µs at %.0f/s, a ratio of %.2f",
		fast.median(1, use.perItem), fast.median(1, use.rate), fast.ratio(cost))
	return []figure{f}
}

// wrk posts the same request as fast as it can.
func (b *bench) wrk(url string) *process {
	return b.start("wrk", []string{"TOKEN=" + token, "BODY=" + body}, "wrk", "-t1", fmt.Sprintf("-c%d", connections),
		fmt.Sprintf("-d%.0fs", b.openSeconds()), "-s", "extensions/k6/cmd/bench/scripts/post.lua", url)
}

// sent is the CPU use of k6 that only sends, at this rate over all connections. Neither k6 nor the baselines have
// real-time priority: k6 would preempt the server at each answer, so no two answers would wait at once.
func (b *bench) sent(in *ingest, rate float64, pump bool) use {
	profile := phase(b.openSeconds(), rate, "")
	return b.until(b.arrival(sending(profile, connections, in.url, token, b.silentBroker()), pump), in)
}

// until measures a program that posts, then kills it.
func (b *bench) until(p *process, in *ingest) use {
	defer p.kill()
	return b.observe(map[string]int{p.name: p.pid}, counting(&in.requests), p)
}
