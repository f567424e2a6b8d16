package main

import (
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// receivers are the kinds of receivers besides MQTT. The cases that each has are those of MQTT.
var receivers = []struct {
	name   string
	outlet func() fake.Outlet
	cases  []string // by their names; the short form has the first two
}{
	{"webhook", func() fake.Outlet { return &fake.Webhook{} }, receiverCases},
	{"websocket", func() fake.Outlet { return &fake.Push{} }, append(receiverCases, "subscriber cut off")},
	{"sse", func() fake.Outlet { return &fake.Push{Events: true} }, append(receiverCases, "subscriber cut off")},
}

var receiverCases = []string{
	"delay of 50 ms", "1 in 1,000 lost, 1 in 500 twice", "delay of 0 ms", "freeze of 1 s",
	"1 in 10 swapped with the next",
}

// allCases are the cases of MQTT, those of the other receivers, and those that prove the verdict.
func allCases() []testCase {
	all := slices.Clone(cases)
	for _, r := range receivers {
		for i, name := range r.cases {
			c := cases[slices.IndexFunc(cases, func(one testCase) bool { return one.name == name })]
			pipeline := c.pipelines[0]
			c.name = r.name + ", " + name
			c.pipelines = one(func() *fake.Pipeline {
				f := pipeline()
				f.Outlet = r.outlet()
				return f
			})
			if i > 1 {
				c.seconds[short] = 0
			}
			all = append(all, c)
		}
	}
	return append(all, boundsCases()...)
}
