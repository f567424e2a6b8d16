package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// consumersMost is how long the consumers of a script may take to connect and subscribe.
const consumersMost = 20 * time.Second

// ConsumersLast is how long a consumer may take to end after the run.
const ConsumersLast = 10 * time.Second

// Consumers are the VUs of a script that receives.
type Consumers struct {
	Wanted int  // that the run waits for
	FanOut bool // each has a subscriber's number of its own

	ready chan struct{} // closed when as many as wanted have subscribed
	over  chan struct{} // closed when the run has collected everything, or has failed
	end   sync.Once

	mu         sync.Mutex
	subscribed int
}

func newConsumers(o *Options) *Consumers {
	c := &Consumers{ready: make(chan struct{}), over: make(chan struct{})}
	if o.Arrived != nil {
		c.Wanted, c.FanOut = o.Arrived.Count(o.profile), o.profile.Subscribers() > 1
	}
	return c
}

// Next counts a consumer, and returns its number.
func (c *Consumers) Next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed++; c.subscribed == c.Wanted {
		close(c.ready)
	}
	return c.subscribed
}

func (c *Consumers) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscribed
}

// release lets the consumers end.
func (c *Consumers) release() { c.end.Do(func() { close(c.over) }) }

// awaitConsumers waits until the script's consumers have subscribed, so that nothing is sent that nobody receives.
func (e *Engine) awaitConsumers(ctx context.Context) error {
	c := e.consumers
	if c.Wanted == 0 || e.external != nil { // a caller starts the schedule when it receives
		return nil
	}
	patience := time.NewTimer(consumersMost)
	defer patience.Stop()
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return fmt.Errorf("%d of %d consumers have called run.subscribed() within %s: "+
			"a scenario's function has to call it when its connection would receive every message (run.scenarios() "+
			"has one that calls consumer(); "+
			"arrived.consumers says how many there are)", c.count(), c.Wanted, consumersMost)
	}
}

// CheckSubscriber refuses the number of a subscriber, from 1, that the run does not have.
func (e *Engine) CheckSubscriber(n int) error {
	if most := e.options.profile.Subscribers(); n < 1 || n > most {
		return fmt.Errorf("subscriber %d; allowed: 1 to %d (a message's deliveries in the profile, or "+
			"arrived.consumers)", n, most)
	}
	return nil
}

// Ready is closed when as many as wanted have subscribed.
func (c *Consumers) Ready() <-chan struct{} { return c.ready }

// Over is closed when the run has collected everything, or has failed.
func (c *Consumers) Over() <-chan struct{} { return c.over }

// Consumers are the VUs of the script that receive.
func (e *Engine) Consumers() *Consumers { return e.consumers }

// Recipient is the number, from 1, of the target where a message came.
func (e *Engine) Recipient(value any) (int, error) {
	name, _ := value.(string)
	number, known := e.parts.Targets.Number([]byte(name))
	if !known {
		return 0, fmt.Errorf("has target %q, which no message of the run has; allowed: %s", fmt.Sprint(value), e.recipients())
	}
	return number + 1, nil
}

// recipients says which targets a run has.
func (e *Engine) recipients() string {
	var all []string
	for _, f := range e.parts.Profile.Flows {
		text := f.TargetOf(0)
		if f.Targets > 1 {
			text += " to " + f.TargetOf(f.Targets-1)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
