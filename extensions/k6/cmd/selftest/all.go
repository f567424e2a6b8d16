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

// runAll runs cases, so many at once, and yields them in their order, each when it is done. None runs any more when it has come to its end.
func runAll(ctx context.Context, in instrument, f form, selected []*testCase, atOnce int, dir string) iter.Seq[*result] {
	results := make([]*result, len(selected))
	for i, c := range selected {
		results[i] = &result{testCase: c, done: make(chan struct{})}
	}
	go func() {
		slots := make(chan struct{}, atOnce)
		for _, r := range results {
			slots <- struct{}{}
			go func() {
				if ctx.Err() == nil {
					run := func(attempt int) (*outcome, error) { return r.testCase.run(ctx, in, f, r.testCase.place(dir, attempt)) }
					r.rows = r.testCase.try(run, func(why string) { r.repeated = append(r.repeated, why) })
				}
				close(r.done)
				<-slots
			}()
		}
	}()
	return func(yield func(*result) bool) {
		stopped := false
		for _, r := range results {
			<-r.done
			stopped = stopped || !yield(r)
		}
	}
}
