package runfile

import "github.com/arrival-bench/arrival/extensions/k6/internal/words"

// SendersMost is how many senders a run may be given.
const SendersMost = 10_000

// RequestStage is the stage of errors of requests.
const RequestStage = "request"

// LostClass is the class of errors of connections that ended: of the load's subscribers, and of the canary.
const LostClass = "subscriber lost"

// Scene is what a cause needs besides run.json. A merged run has none: each instance has its own causes.
type Scene struct {
	URL        string // requests were posted to it; it has no secrets; empty: they are not posted
	Subscribed string // says what was subscribed and what to check, if nothing arrived; empty: no subscriptions
	Abandoned  string // how far the senders came before they ended; empty: they did not end early
	Sample     string // the first foreign message, cut; empty: none
	Carries    bool   // the sample has an id of this run, in a place or a form where no message has one
	Greeted    bool   // one message went round before the load
	InFlight   int    // requests of the open model that the senders can have in flight at once; 0: unknown
}

// DenialStage is the stage of calls that a webhook did not take.
const DenialStage = "webhook"

// The errors of requests that a caller of the recorder took and did not send.
const (
	CallerStage = "caller"
	UnsentClass = "not sent"
)

// ExcerptOf makes foreign bytes printable, on one line, and cuts them.
func ExcerptOf(payload []byte) string {
	text, cut := words.MaskMembers(words.Mask(string(payload[:min(len(payload), sampleRead)]))), ""
	if len(text) > sampleMost {
		text, cut = text[:sampleMost], " …"
	}
	return words.Printable(text) + cut
}

// sampleMost is how many bytes of a foreign message are shown.
const sampleMost = 160

// sampleRead is how many are looked at for secrets, before the cut.
const sampleRead = 4 << 10
