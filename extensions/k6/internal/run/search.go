package run

import (
	"cmp"
	"context"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// QueueSearch knows where messages of a pipeline can remain.
type QueueSearch interface {
	// Server is the name of the queue's server in a sentence.
	Server() string
	// Places lists queues, then dead letters: sought in this order, no message is missed that moves from one to the
	// other. With an error it lists those that it knows.
	Places(ctx context.Context) ([]Place, error)
}

// Place is a place where messages can remain.
type Place struct {
	Name string
	Fate ledger.Fate // what has become of a message that is found there
	// Read passes the body of each message.
	Read func(ctx context.Context, body func(string)) error
}

// Find looks for the missing messages, and records in its ledger where they are. If a place cannot be read,
// those that are found nowhere are unknown, not lost.
func (r *Parts) Find(ctx context.Context, search QueueSearch) {
	var missed []string
	var first error
	miss := func(name string, err error) {
		if err != nil {
			missed, first = append(missed, name), cmp.Or(first, err)
		}
	}
	places, err := search.Places(ctx)
	miss("its places", err)
	for _, place := range places {
		miss(place.Name, place.Read(ctx, func(body string) {
			for _, seq := range r.Bodies.Seqs([]byte(body), nil) {
				r.Ledger.Find(seq, place.Fate)
			}
		}))
	}
	if first != nil {
		r.Ledger.Unsought()
		r.Distrust("%s could not be asked for what is missing (%s), so it is unknown and not lost: %s",
			search.Server(), strings.Join(missed, ", "), first)
	}
}
