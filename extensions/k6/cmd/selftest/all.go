package main

import (
	"context"
	"iter"
)

// result is what came of a case.
type result struct {
	testCase *testCase
	rows     []row
	repeated []string // why, each time
	done     chan struct{}
}

// runAll runs cases, so many at once, and yields them in their order, each of them to be waited for. None runs any more
// when it has come to its end.
func runAll(ctx context.Context, in instrument, f form, selected []*testCase, atOnce int, dir string) iter.Seq[*result] {
	results := make([]*result, len(selected))
	for i, c := range selected {
		results[i] = &result{testCase: c, done: make(chan struct{})}
	}
	next := make(chan *result)
	go func() {
		defer close(next)
		for _, r := range results {
			next <- r
		}
	}()
	for range atOnce {
		go func() {
			for r := range next {
				if ctx.Err() == nil {
					run := func(attempt int) (*outcome, error) { return r.testCase.run(ctx, in, f, r.testCase.place(dir, attempt)) }
					r.rows = r.testCase.try(run, func(why string) { r.repeated = append(r.repeated, why) })
				}
				close(r.done)
			}
		}()
	}
	return func(yield func(*result) bool) {
		for _, r := range results {
			if !yield(r) {
				break
			}
		}
		for _, r := range results {
			<-r.done
		}
	}
}
