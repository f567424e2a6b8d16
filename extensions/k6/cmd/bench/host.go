package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// host is how long the cores of the machine were idle, were taken away by a hypervisor (steal), and were there in all: in ticks,
// since its start. All 0: the machine does not tell.
type host struct{ idle, steal, all int64 }

// hostTimes are those of proc(5).
func hostTimes() host {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return host{}
	}
	return parseHost(string(text))
}

// parseHost reads the line of all cores: user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
func parseHost(stat string) host {
	const idle, iowait, steal, fields = 3, 4, 7, 8
	line, _, _ := strings.Cut(stat, "\n")
	words := strings.Fields(line)
	if len(words) <= fields || words[0] != "cpu" {
		return host{}
	}
	var h host
	for i, word := range words[1 : fields+1] {
		ticks, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return host{}
		}
		h.all += ticks
		switch i {
		case idle, iowait:
			h.idle += ticks
		case steal:
			h.steal = ticks
		}
	}
	return h
}

// since are the times between two moments.
func (h host) since(before host) host {
	return host{h.idle - before.idle, h.steal - before.steal, h.all - before.all}
}

func (h host) String() string {
	if h.all <= 0 {
		return "the host does not tell what it had left"
	}
	percent := func(ticks int64) float64 { return 100 * float64(ticks) / float64(h.all) }
	return fmt.Sprintf("of all cores %.0f %% idle, %.0f %% steal", percent(h.idle), percent(h.steal))
}
