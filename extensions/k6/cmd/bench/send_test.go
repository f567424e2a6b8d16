package main

import (
	"fmt"
	"strings"
	"testing"
)

const (
	// connections is how many requests are in flight.
	connections = 10
	// flood is more requests per second than k6 can send: it never waits for one to be due.
	flood = 150_000.0
	// paced is the share of wrk's rate that the pump keeps to: at this rate it waits until each request is due.
	paced = 0.65
)

// body is a request like the native sender's, for senders that repeat one request.
var body = `{"id":"01234567.1.123456","source":"k6","target":"user/12","payload":"` + strings.Repeat("x", 64) + `"}`

func BenchmarkSender(b *testing.B) {
	in := startIngest(b, nil)
	env := []string{"URL=" + in.url + "/messages", "TOKEN=" + token, "BODY=" + body, fmt.Sprint("VUS=", connections)}
	rounds(b, func(t testing.TB) use {
		return in.until(t, k6(t, "http.js", env, "--summary-mode", "disabled"))
	}, func(t testing.TB) use {
		return in.sent(t, flood, false)
	}, func(b *testing.B, baseline, ours use) { reportCost(b, "", baseline, ours) })
}

func BenchmarkPump(b *testing.B) {
	in := startIngest(b, nil)
	rate := 0.0 // the paced pump's follows the latest wrk's: a machine that is slow for a while slows both
	var fast use
	rounds(b, func(t testing.TB) use {
		u := in.until(t, wrk(t, in.url+"/messages"))
		rate = paced * u.rate()
		return u
	}, func(t testing.TB) use {
		fast = in.sent(t, flood, true)
		return in.sent(t, rate, true)
	}, func(b *testing.B, baseline, ours use) {
		reportCost(b, "", baseline, ours)
		b.ReportMetric(fast.perItem(), "all-due:ours") // where all are due before they are sent
		b.ReportMetric(fast.perItem()/baseline.perItem(), "all-due:ratio")
	})
}

// wrk posts the same request as fast as it can.
func wrk(t testing.TB, url string) *program {
	return start(t, []string{"TOKEN=" + token, "BODY=" + body}, "wrk", "-t1", fmt.Sprintf("-c%d", connections),
		fmt.Sprintf("-d%.0fs", openSeconds()), "-s", folder+"/scripts/post.lua", url)
}

// sent is the CPU use of k6 that only sends, at this rate over all connections. Neither k6 nor the baselines have
// real-time priority: k6 would preempt the server at each answer, so no two answers would wait at once.
func (in *ingest) sent(t testing.TB, rate float64, pump bool) use {
	o := sending(phase(openSeconds(), rate, ""), connections, in.url, token, silentBroker(t))
	return in.until(t, arrival(t, "arrival.js", o, fmt.Sprint("PUMP=", pump)))
}

// until measures a program that posts, then kills it.
func (in *ingest) until(t testing.TB, p *program) use {
	defer p.Kill()
	return observe(t, map[string]int{"sender": p.PID}, counting(&in.requests), p)
}
