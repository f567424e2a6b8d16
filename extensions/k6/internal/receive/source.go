// Package receive is the receiving side of a run. A Source says where its messages arrive and opens a Receiver there,
// and a Sink turns what that reads into arrivals of the ledger. Each kind of source is a package below this one, and a
// line in the options of arrival. The Canary is one message a second beside the load, through any source that has a
// Line for it.
package receive

import (
	"context"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Source is where the messages of a run arrive: the options of one kind of receiver.
type Source interface {
	// Check refuses options that are wrong, or do not fit a profile. The error names the option and what is allowed.
	Check(p *profile.Profile) error
	// Describe says what the rest of a run has to know of checked options.
	Describe() Description
	// Open returns when every message that is sent from then on would be received.
	Open(ctx context.Context, parts *run.Parts, sink *Sink, m Means) (Receiver, error)
	// Canary connects the path of a canary. It returns nil where Describe has a reason for that.
	Canary(ctx context.Context, parts *run.Parts, m Means) (*Path, error)
}

// Means are what a source connects with.
type Means struct {
	Network  network.Network
	Patience time.Duration // how long a server may be unreachable
	Receiver Receiver      // the run's, if the canary's messages arrive there too; nil: not open yet
}

// Description is what the rest of a run has to know of its source.
type Description struct {
	// where nothing came, in the words of the options, and what to ask; empty: there are no subscriptions
	Words       string
	Headers     string   // what header fields are called in its messages; empty: they have none
	Unread      string   // where messages wait until they are read; empty: in the subscriber's socket
	Prefix      string   // the part of an address before the target
	AtMostOnce  bool     // a loss is counted, but is not a failure
	Last        string   // the stage after which a message has arrived; empty: the last of the run
	Connections int      // it opens at least so many, however few deliveries a message has
	Files       int      // it may open so many besides those of its connections
	Servers     []Server // it connects to these
	NoCanary    string   // why no canary can arrive; empty: one can
	NoGreeting  string   // why no message can go round before the load; empty: one can
	Unshareable string   // why several instances of a run can't read from it; empty: they can
	Common      bool     // each instance of a run gets the messages of all
}

// Server is an address of the options.
type Server struct {
	Option string // that sets it
	URL    string
	Host   string // host:port; empty: it can't be told from the address
	Direct bool   // the environment's proxy is not used, for schemes that have one
}

// Receiver reads the messages of a run. It may be used from any goroutine.
type Receiver interface {
	// Failed receives the error of a subscriber that ended early.
	Failed() <-chan error
	// Check asks every connection for an answer. One without has a gap: missing messages may have been in flight there.
	Check()
	// Gaps are the times when subscribers were not connected.
	Gaps() []runfile.Gap
	// Close ends all reading. It may be called more than once.
	Close()
}

// AnswerReceiver is a Receiver that takes the answer to a request as the arrival of its messages.
type AnswerReceiver interface {
	Answered(seq, messages int, at socket.Arrival)
}

// CallbackReceiver is a Receiver that a pipeline connects to.
type CallbackReceiver interface {
	URL() string
}

// Coded reports whether a content coding changes the bytes of what arrives (RFC 9110, 8.4.1).
func Coded(encoding string) bool { return encoding != "" && !strings.EqualFold(encoding, "identity") }

// None is the Receiver of a run that has not begun to receive. Receivers that hold no connection embed it.
type None struct{}

// Failed returns nil: nothing can fail.
func (None) Failed() <-chan error { return nil }

// Check does nothing.
func (None) Check() {}

// Gaps returns none.
func (None) Gaps() []runfile.Gap { return []runfile.Gap{} }

// Close does nothing.
func (None) Close() {}
