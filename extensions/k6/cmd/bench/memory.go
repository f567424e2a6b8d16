package main

import (
	"context"
	"fmt"
	"time"
)

const (
	memoryLimit = 150.0  // MB
	memoryRate  = 50_000 // messages per second
)

func memory(ctx context.Context, b *bench) ([]figure, error) {
	f := figure{limit: 1, baseline: side{"allowed", memoryLimit, "MB"}}
	in, err := b.startIngest(nil)
	if err != nil {
		return nil, err
	}
	url, err := b.straight(in.deliver)
	if err != nil {
		return nil, err
	}
	clock, err := b.startRedis(ctx)
	if err != nil {
		return nil, err
	}
	p, dir, err := b.arrival(options{
		"profile": batches(float64(b.messages)/memoryRate, memoryRate), "senders": 4, "canary": false,
		"ingest": options{"url": in.url, "token": token}, "mqtt": options{"url": url, "qos": 0}, "redis": options{"url": clock},
	}, true)
	if err != nil {
		return nil, err
	}
	// Until it ends, as the summary is written last. The system keeps the peak, so what is between two looks is not lost.
	peak, told := int64(0), time.Now()
	for ended := false; !ended; {
		if n, err := peakOf(p.pid); err == nil {
			peak = n
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			b.say("%d messages, %.0f MB, load average %s", in.messages.Load(), megabytes(peak), loadAverage())
		}
		select {
		case <-p.done:
			ended = true
		default:
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	r, err := finish(ctx, p, dir)
	if err != nil {
		return nil, err
	}
	f.ours = side{"k6", megabytes(peak), "MB"}
	f.ratio = megabytes(peak) / memoryLimit
	b.say("%d messages measured, %.0f MB at most, load average %s", r.Account.Arrived, megabytes(peak), loadAverage())
	f.notes = append(f.notes, fmt.Sprintf("peak resident memory of k6 in a run of %d measured messages, its summary included; "+
		"MB of 1024² bytes", r.Account.Arrived))
	return []figure{f}, nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
