package main

import (
	"context"
	"iter"
)

type result struct {
	testCase *testCase
	rows     []row
	repeated []string // the reason for each repetition
	done     chan struct{}
}

// runAll runs cases concurrently, limited in number, and yields them in order, each when it is done. None is
// still running when it ends.
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
